// The second stage that every front end shares: it degrades in one way, whatever goes wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "relucent/rescore_candidates.h"
#include "tests/support/expect_error.h"

namespace relucent::testing {
namespace {

/// Scores a text by its length, or does what a test asks for.
class LengthScorer : public Scorer {
 public:
  explicit LengthScorer(std::function<void(std::span<CandidateScore>)> trouble = {}) : trouble_(std::move(trouble)) {}
  void score(std::string_view, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal&) const override {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      EXPECT_FALSE(candidates[i].text.empty());
      scores[i].score = static_cast<float>(candidates[i].text.size());
    }
    if (trouble_) trouble_(scores);
  }
  std::string describe() const override { return "length"; }

 private:
  std::function<void(std::span<CandidateScore>)> trouble_;
};

std::vector<Candidate> candidates() {
  return {{"a", "x", 3.0, 1}, {"b", "", 2.0, 2}, {"c", "xxx", 1.5, 3}, {"d", "xxxxxxxx", 1.0, 4}};
}

SecondStageConfig config(std::int32_t window = 3) {
  SecondStageConfig config;
  config.window = window;
  return config;
}

std::string order_of(const RescoredCandidates& rescored) {
  std::string ids;
  for (const CombinedHit& hit : rescored.order) ids += candidates()[hit.index].id;
  return ids;
}

TEST(RescoreCandidates, OrdersTheWindowByScoreAndKeepsTheRest) {
  const auto rescored = rescore_candidates(LengthScorer(), "query", candidates(), config(), {});
  EXPECT_EQ(rescored.status, RescoreStatus::rescored);
  EXPECT_FALSE(rescored.degraded);
  EXPECT_EQ(order_of(rescored), "cabd");  // b has no text, d is beyond the window
  ASSERT_EQ(rescored.window.size(), 3U);
  EXPECT_EQ(rescored.last_score(1), nullptr);
}

TEST(RescoreCandidates, TroubleGivesTheFirstStagesOrder) {
  const std::vector<std::function<void(std::span<CandidateScore>)>> troubles = {
      [](auto scores) { scores[0].score = std::numeric_limits<float>::quiet_NaN(); },
      [](auto) { throw std::runtime_error("boom"); },
      [](auto) { throw std::bad_alloc(); },
      [](auto) { throw 42; },
      [](auto) { throw Error(ErrorKind::device, "cuda:0", "is lost"); },
  };
  for (const auto& trouble : troubles) {
    const LengthScorer scorer(trouble);
    const auto rescored = rescore_candidates(scorer, "query", candidates(), config(), {});
    EXPECT_EQ(rescored.status, RescoreStatus::failed);
    EXPECT_TRUE(rescored.degraded);
    EXPECT_TRUE(rescored.in_first_stage_order);
    EXPECT_EQ(order_of(rescored), "abcd");
    EXPECT_EQ(rescored.order[1].score, 2.0F);
    EXPECT_FALSE(rescored.reason.empty());
    EXPECT_TRUE(rescored.failure.has_value());
    SecondStageConfig strict = config();
    strict.on_error = OnError::fail;
    EXPECT_THROW(rescore_candidates(scorer, "query", candidates(), strict, {}), Error);
  }
}

TEST(RescoreCandidates, AnInterruptIsNeverAnAnswer) {
  std::stop_source source;
  source.request_stop();
  StopSignal stop;
  stop.stop = source.get_token();
  expect_error(ErrorKind::interrupted,
               [&] { rescore_candidates(LengthScorer(), "query", candidates(), config(), stop); });
}

TEST(RescoreCandidates, AMissedDeadlineIsAFailure) {
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now();
  const auto rescored = rescore_candidates(LengthScorer(), "query", candidates(), config(), stop);
  EXPECT_EQ(rescored.failure, ErrorKind::deadline);
  EXPECT_EQ(order_of(rescored), "abcd");
}

TEST(RescoreCandidates, WithoutTextThereIsNoFailure) {
  EXPECT_EQ(rescore_candidates(LengthScorer(), "query", {}, config(), {}).status, RescoreStatus::no_hits);
  const auto blank = rescore_candidates(LengthScorer(), " \t", candidates(), config(), {});
  EXPECT_EQ(blank.status, RescoreStatus::no_query_text);
  EXPECT_FALSE(blank.degraded);
  EXPECT_EQ(order_of(blank), "abcd");
  const std::vector<Candidate> bare = {{"a", "", 3.0, 1}, {"b", "", 2.0, 2}};
  const auto without = rescore_candidates(LengthScorer(), "query", bare, config(), {});
  EXPECT_EQ(without.status, RescoreStatus::no_hit_text);
  EXPECT_FALSE(without.degraded);
  EXPECT_EQ(without.order.size(), 2U);
}

TEST(RescoreCandidates, ARuleMustNameEachHitOnce) {
  const CombineRule twice = [](auto, auto) {
    std::vector<CombinedHit> order(2);
    return order;
  };
  const auto rescored = rescore_candidates(LengthScorer(), "query", candidates(), config(), {}, twice);
  EXPECT_EQ(rescored.failure, ErrorKind::internal);
  EXPECT_EQ(order_of(rescored), "abcd");
}

}  // namespace
}  // namespace relucent::testing
