#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "relucent/rescore_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

class RescoringFailures : public ::testing::Test {
 protected:
  SmallIndex index{ten_documents({"3", "5", "1", "2", "9", "2", "70", "80", "90", "100"})};
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();
  Config config = small_config();
  Lucene::QueryPtr query = newLucene<RescoreQuery>(term_query("word"), "some words");

  void SetUp() override { config.rescorer.window = 6; }

  // The complete first-stage order with its scores, and a reason; or an Error with on_error = fail.
  void expect_first_stage(const std::string& reason, const Lucene::QueryPtr& asked,
                          const std::shared_ptr<const Scorer>& with) {
    const auto bm25 = bm25_searcher(index)->search(term_query("word"), 10);
    config.rescorer.on_error = OnError::first_stage;
    const auto answer = rescored(rescoring_searcher(index, config, with)->search(asked, 10));
    EXPECT_TRUE(answer->degraded);
    EXPECT_EQ(answer->status, RescoreStatus::failed);
    EXPECT_NE(answer->reason.find(reason), std::string::npos) << answer->reason;
    EXPECT_EQ(documents_of(answer), documents_of(bm25));
    EXPECT_EQ(scores_of(answer), scores_of(bm25));
    EXPECT_EQ(answer->totalHits, bm25->totalHits);
    EXPECT_EQ(answer->maxScore, bm25->maxScore);
    EXPECT_EQ(answer->rescored, 0);
    for (std::int32_t i = 0; i < 10; ++i) {
      EXPECT_EQ(rescored_hit(answer, i)->status, HitStatus::not_rescored);
      EXPECT_EQ(rescored_hit(answer, i)->first_stage_rank, i + 1);
      EXPECT_FALSE(rescored_hit(answer, i)->logit);
    }
    EXPECT_EQ(documents_of(rescoring_searcher(index, config, with)->search(asked, 3)),
              documents_of(bm25_searcher(index)->search(term_query("word"), 3)));

    config.rescorer.on_error = OnError::fail;
    try {
      rescoring_searcher(index, config, with)->search(asked, 10);
      ADD_FAILURE() << "no error with on_error = fail";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
};

TEST_F(RescoringFailures, AThrowingScorerGivesTheFirstStagesOrder) {
  scorer->before = [](const StopSignal&) { throw Error(ErrorKind::device, "cuda:0", "is out of memory"); };
  expect_first_stage("is out of memory", query, scorer);
  scorer->before = [](const StopSignal&) { throw std::runtime_error("a module's own trouble"); };
  expect_first_stage("a module's own trouble", query, scorer);
  scorer->before = [](const StopSignal&) { throw std::bad_alloc(); };
  expect_first_stage("", query, scorer);
  scorer->before = [](const StopSignal&) { throw 42; };
  expect_first_stage("", query, scorer);
}

TEST_F(RescoringFailures, AScorerThatWatchesTheDeadlineIsStoppedByIt) {
  config.rescorer.timeout = std::chrono::milliseconds(20);
  scorer->before = [](const StopSignal& stop) {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      stop.throw_if_due("counting sheep");
    }
  };
  expect_first_stage("counting sheep", query, scorer);
}

TEST_F(RescoringFailures, AScorerThatComesTooLateIsNotUsed) {
  config.rescorer.timeout = std::chrono::milliseconds(20);
  scorer->before = [](const StopSignal&) { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
  expect_first_stage("rescoring", query, scorer);
}

TEST_F(RescoringFailures, WithoutADeadlineASlowScorerIsWaitedFor) {
  config.rescorer.timeout = std::chrono::milliseconds(0);
  scorer->before = [](const StopSignal& stop) {
    EXPECT_FALSE(stop.deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  };
  EXPECT_FALSE(rescored(rescoring_searcher(index, config, scorer)->search(query, 10))->degraded);
}

class Constant : public Scorer {
 public:
  explicit Constant(float value) : value_(value) {}
  void score(std::string_view, std::span<const Candidate>, std::span<CandidateScore> scores,
             const StopSignal&) const override {
    for (auto& score : scores) score.score = 1;
    scores.back().score = value_;
  }
  std::string describe() const override { return "constant"; }

 private:
  float value_;
};

TEST_F(RescoringFailures, ScoresThatAreNotFiniteAreAFailure) {
  expect_first_stage("candidate 6", query, std::make_shared<Constant>(std::numeric_limits<float>::quiet_NaN()));
  expect_first_stage("candidate 6", query, std::make_shared<Constant>(-std::numeric_limits<float>::infinity()));
}

TEST_F(RescoringFailures, ADocumentThatCannotBeReadIsAFailure) {
  auto hits = Lucene::Collection<Lucene::ScoreDocPtr>::newInstance();
  hits.add(newLucene<Lucene::ScoreDoc>(99, 1.0));
  const auto pass = newLucene<Lucene::TopDocs>(1, hits, 1.0);
  const auto answer = Rescorer(config, scorer).rescore(bm25_searcher(index), pass, "words", 10);
  EXPECT_TRUE(answer->degraded);
  EXPECT_EQ(documents_of(answer), std::vector<std::int32_t>{99});
}

class Broken : public Rescorer {
 public:
  using Rescorer::Rescorer;
  std::vector<CombinedHit> combine(std::span<const double>, std::span<const std::optional<float>>) const override {
    return std::vector<CombinedHit>(2);  // the first hit twice
  }
};

TEST_F(RescoringFailures, ACombineThatDoublesHitsIsAFailure) {
  const auto searcher = bm25_searcher(index);
  const auto answer = Broken(config, scorer).rescore(searcher, searcher->search(term_query("word"), 10), "words", 10);
  EXPECT_TRUE(answer->degraded);
  EXPECT_EQ(answer->scoreDocs.size(), 10);
}

TEST_F(RescoringFailures, ExplanationsSayThatTheAnswerWasDegradedAndWhy) {
  scorer->before = [](const StopSignal&) { throw std::runtime_error("the fan stopped"); };
  const auto explained = rescoring_searcher(index, config, scorer)->explain(query, 0);
  EXPECT_NE(to_utf8(explained->toString()).find("the fan stopped"), std::string::npos);
  EXPECT_EQ(explained->getValue(), bm25_searcher(index)->search(term_query("word"), 1)->scoreDocs[0]->score);
}

TEST_F(RescoringFailures, TheNextQueryAfterAFailureIsRescoredAgain) {
  const auto searcher = rescoring_searcher(index, config, scorer);
  scorer->before = [](const StopSignal&) { throw std::runtime_error("once"); };
  EXPECT_TRUE(rescored(searcher->search(query, 10))->degraded);
  scorer->before = nullptr;
  EXPECT_FALSE(rescored(searcher->search(query, 10))->degraded);
}

}  // namespace
}  // namespace relucent
