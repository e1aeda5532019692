// Several stages one after another: each scores the best hits of the one before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "relucent/rescore_candidates.h"
#include "tests/support/expect_error.h"

namespace relucent::testing {
namespace {

/// The score is the number in the text's column `column`, from 0.
class ColumnScorer : public Scorer {
 public:
  explicit ColumnScorer(std::size_t column) : column_(column) {}
  void score(std::string_view, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    seen.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::string text(candidates[i].text);
      for (std::size_t skipped = 0; skipped < column_; ++skipped) text.erase(0, text.find(' ') + 1);
      scores[i].score = std::strtof(text.c_str(), nullptr);
      seen += candidates[i].id;
    }
    if (trouble) trouble(stop);
  }
  std::string describe() const override { return "column " + std::to_string(column_); }

  mutable std::string seen;  ///< ids of the last call
  std::function<void(const StopSignal&)> trouble;

 private:
  std::size_t column_;
};

const std::vector<Candidate> kCandidates = {{"a", "1 9", 6.0, 1}, {"b", "5 2", 5.0, 2}, {"c", "4 8", 4.0, 3},
                                            {"d", "3 7", 3.0, 4}, {"e", "9 9", 2.0, 5}, {"f", "", 1.0, 6}};

class Stages : public ::testing::Test {
 protected:
  SecondStageConfig config;
  std::shared_ptr<ColumnScorer> first = std::make_shared<ColumnScorer>(0), second = std::make_shared<ColumnScorer>(1);

  void SetUp() override {
    config.stages.resize(2);
    config.stages[0].window = 4;
    config.stages[1].window = 2;
  }
  RescoredCandidates run(const StopSignal& stop = {}, const CombineRule& rule = {}) const {
    return rescore_candidates(config, make_stages(config, {first, second}), "query", kCandidates, stop, rule);
  }
  static std::string order_of(const RescoredCandidates& rescored) {
    std::string ids;
    for (const CombinedHit& hit : rescored.order) ids += kCandidates[hit.index].id;
    return ids;
  }
};

TEST_F(Stages, ALaterOnesHitsStandBeforeThoseItDidNotScore) {
  const auto rescored = run();
  EXPECT_EQ(rescored.status, RescoreStatus::rescored);
  EXPECT_FALSE(rescored.degraded);
  EXPECT_EQ(first->seen, "abcd");
  EXPECT_EQ(second->seen, "bc");
  EXPECT_EQ(order_of(rescored), "cbdaef");
  EXPECT_EQ(rescored.order[0].score, 8.F);
  EXPECT_EQ(rescored.order[1].score, 2.F);
  EXPECT_LT(rescored.order[2].score, 2.F);  // d had 3 from the first stage
  for (std::size_t i = 1; i < rescored.order.size(); ++i) {
    EXPECT_LE(rescored.order[i].score, rescored.order[i - 1].score);
    EXPECT_EQ(rescored.order[i].rescored, i < 4);
  }
}

TEST_F(Stages, EachTellsWhatItScored) {
  const auto rescored = run();
  ASSERT_EQ(rescored.stages.size(), 2U);
  const auto scores = [&](std::size_t stage) {
    std::vector<float> values;
    for (const RescoredCandidate& candidate : rescored.window) {
      const auto scored = std::ranges::find(candidate.stages, stage, &StageScore::stage);
      values.push_back(scored != candidate.stages.end() ? scored->score.score : -1);
    }
    return values;
  };
  EXPECT_EQ(scores(0), (std::vector<float>{1, 5, 4, 3}));
  EXPECT_EQ(scores(1), (std::vector<float>{-1, 2, 8, -1}));
  EXPECT_EQ(rescored.stages[0].rescored, 4);
  EXPECT_EQ(rescored.stages[1].rescored, 2);
  ASSERT_EQ(rescored.window.size(), 4U);
  EXPECT_EQ(rescored.last_score(0)->score.score, 1.F);
  EXPECT_EQ(rescored.last_score(0)->stage, 0U);
  EXPECT_EQ(rescored.last_score(0)->combined.index, 0U);
  EXPECT_EQ(rescored.last_score(2)->score.score, 8.F);
  EXPECT_EQ(rescored.last_score(2)->stage, 1U);
  EXPECT_EQ(rescored.last_score(2)->combined.score, rescored.order[0].score);
  EXPECT_EQ(rescored.last_score(4), nullptr);  // beyond the window
}

TEST_F(Stages, CombineWithTheScoresOfTheStageBefore) {
  config.stages[1].score_mode = ScoreMode::total;
  config.stages[1].query_weight = 10;
  const auto rescored = run();
  EXPECT_EQ(order_of(rescored), "bcdaef");
  EXPECT_EQ(rescored.order[0].score, 2.F + 10 * 5);
  EXPECT_EQ(rescored.order[1].score, 8.F + 10 * 4);
}

TEST_F(Stages, AFailureInAnyGivesTheFirstStagesOrder) {
  for (const auto& failing : {first, second}) {
    first->trouble = second->trouble = nullptr;
    failing->trouble = [](const StopSignal&) { throw std::runtime_error("boom"); };
    config.on_error = OnError::first_stage;
    const auto rescored = run();
    EXPECT_EQ(rescored.status, RescoreStatus::failed);
    EXPECT_TRUE(rescored.degraded);
    EXPECT_TRUE(rescored.in_first_stage_order);
    EXPECT_EQ(order_of(rescored), "abcdef");
    EXPECT_EQ(rescored.order[0].score, 6.F);
    EXPECT_TRUE(rescored.stages.empty());
    const std::string stage = failing == first ? "stage 1 of 2: " : "stage 2 of 2: ";
    EXPECT_NE(rescored.reason.find(stage), std::string::npos) << rescored.reason;
    config.on_error = OnError::fail;
    EXPECT_THROW(run(), Error);
  }
}

TEST_F(Stages, AFailureMayGiveTheOrderOfTheStagesThatFinished) {
  config.on_error = OnError::previous_stage;
  second->trouble = [](const StopSignal&) { throw Error(ErrorKind::device, "cuda:0", "is lost"); };
  const auto rescored = run();
  EXPECT_EQ(rescored.status, RescoreStatus::rescored);
  EXPECT_TRUE(rescored.degraded);
  EXPECT_FALSE(rescored.in_first_stage_order);
  EXPECT_EQ(order_of(rescored), "bcdaef");
  EXPECT_EQ(rescored.order[0].score, 5.F);
  EXPECT_EQ(rescored.stages.size(), 1U);
  EXPECT_EQ(rescored.failure, ErrorKind::device);
  EXPECT_NE(rescored.reason.find("stage 2 of 2: cuda:0: is lost"), std::string::npos) << rescored.reason;

  first->trouble = second->trouble;
  EXPECT_EQ(run().status, RescoreStatus::failed);  // no stage finished
  EXPECT_EQ(order_of(run()), "abcdef");
}

TEST_F(Stages, OneDeadlineHoldsForAll) {
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  second->trouble = [&](const StopSignal& seen) {
    EXPECT_EQ(seen.deadline, stop.deadline);
    throw Error(ErrorKind::deadline, "test", "too late");
  };
  EXPECT_EQ(run(stop).failure, ErrorKind::deadline);
  stop.deadline = std::chrono::steady_clock::now();
  second->seen.clear();
  EXPECT_EQ(run(stop).failure, ErrorKind::deadline);
  EXPECT_EQ(second->seen, "");  // was not asked any more
}

TEST_F(Stages, AnInterruptIsNeverAnAnswer) {
  std::stop_source source;
  StopSignal stop;
  stop.stop = source.get_token();
  config.on_error = OnError::previous_stage;
  second->trouble = [&](const StopSignal& seen) {
    source.request_stop();
    seen.throw_if_due("testing");
  };
  expect_error(ErrorKind::interrupted, [&] { run(stop); });
}

TEST_F(Stages, TheListEndsAtTheLowestScoreOnlyAfterTheLast) {
  config.min_score = 2;
  config.stages[1].window = 4;
  EXPECT_EQ(order_of(run()), "acdb");  // a has only 1 from the first stage
}

TEST_F(Stages, AHostsRuleOrdersTheLast) {
  int calls = 0;
  const CombineRule upside_down = [&](std::span<const double> scores, std::span<const std::optional<float>> logits) {
    ++calls;
    EXPECT_EQ(scores[0], 5);  // the first stage's order
    std::vector<std::optional<float>> negated;
    for (const auto& logit : logits) negated.push_back(-logit.value());
    return combine(scores, negated, config.stages[1]);
  };
  EXPECT_EQ(order_of(run({}, upside_down)), "bcdaef");
  EXPECT_EQ(calls, 1);
}

TEST_F(Stages, HitsWithoutTextStayAtTheBottomOfTheWindow) {
  config.stages[0].window = 6;
  config.stages[1].window = 6;
  const auto rescored = run();
  EXPECT_EQ(second->seen, "ebcda");
  EXPECT_EQ(order_of(rescored), "eacdbf");  // e and a tie; e was better before
  EXPECT_EQ(rescored.last_score(5), nullptr);
}

TEST_F(Stages, NeedOneScorerEach) {
  expect_error(ErrorKind::usage, [&] { make_stages(config, {first}); });
  expect_error(ErrorKind::usage, [&] { make_stages(config, {first, nullptr}); });
}

}  // namespace
}  // namespace relucent::testing
