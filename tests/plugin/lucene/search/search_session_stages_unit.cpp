// Several stages, and scores that are kept for later searches.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

/// The number in one of the text's words, from 0; it may be kept for later queries.
class NthNumberScorer : public NumberScorer {
 public:
  explicit NthNumberScorer(std::size_t place) : place_(place) {}
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    NumberScorer::score(query, candidates, scores, stop);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      scores[i].score = std::stof(words_of(std::string(candidates[i].text)).at(place_)) + shift;
    }
  }
  bool cacheable() const override { return can_be_kept; }
  std::string describe() const override { return "number " + std::to_string(place_); }
  bool can_be_kept = true;
  float shift = 0;

 private:
  std::size_t place_;
};

class SearchSessionStages : public ::testing::Test {
 protected:
  // The first stage scores 0 to 5: 5 (9), 1 (5), 0 (3), 3 (2), 4 (1.5), 2 (1). The second: 5 (3), 1 (2), 0 (1).
  TemporaryFolder folder;
  std::shared_ptr<NthNumberScorer> first = std::make_shared<NthNumberScorer>(0),
                                   second = std::make_shared<NthNumberScorer>(1);
  Config config = small_config();

  void SetUp() override {
    write_words(folder / "index", numbered({"3 1", "5 2", "1 9", "2 9", "1.5 9", "9 3", "7 7", "8 8"}), 3);
    config.rescorer.stages.resize(2);
    config.rescorer.stages[0].window = 6;
    config.rescorer.stages[1].window = 3;
  }
  std::unique_ptr<SearchSession> session() { return session_with(folder / "index", config, {first, second}); }
};

TEST_F(SearchSessionStages, EachPutsItsBestBeforeWhatItDidNotScore) {
  const SearchResult result = session()->search("word", 10, Texts::none);
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{5, 1, 0, 3, 4, 2, 6, 7}));
  using Logits = std::vector<float>;
  const std::vector<Logits> logits = {{9, 3}, {5, 2}, {3, 1}, {2}, {1.5}, {1}, {}, {}};
  for (std::size_t i = 0; i < 8; ++i) {
    const SearchHit& hit = result.hits[i];
    EXPECT_EQ(hit.stage_logits, logits[i]) << hit.id;
    EXPECT_EQ(hit.logit.has_value(), i < 6);
    EXPECT_TRUE(i >= 6 || *hit.logit == logits[i].back()) << hit.id;
    EXPECT_EQ(status_of(hit), i < 6 ? "rescored" : "beyond_window");
    EXPECT_TRUE(i == 0 || hit.score < result.hits[i - 1].score) << hit.id;
  }
  EXPECT_EQ(second->ids, ids_of(std::vector<std::size_t>{5, 1, 0})) << "in the order of the stage before";
  ASSERT_EQ(result.stages.size(), 2U);
  EXPECT_EQ(result.stages[0].scorer, "number 0");
  EXPECT_EQ(result.stages[0].rescored, 6);
  EXPECT_EQ(result.stages[1].scorer, "number 1");
  EXPECT_EQ(result.stages[1].rescored, 3);
  EXPECT_EQ(result.rescored, 6);
  EXPECT_FALSE(result.by_earlier_stages);
  for (const std::int32_t n : {1, 4, 7}) {
    auto ids = ids_of(result);
    ids.resize(static_cast<std::size_t>(n));
    EXPECT_EQ(ids_of(session()->search("word", n, Texts::none)), ids);
  }
}

TEST_F(SearchSessionStages, AFailedOneLeavesTheFirstStagesOrderOrThatOfTheStageBefore) {
  const SearchResult bm25 = bm25_session(folder / "index", config)->search("word", 10, Texts::none);
  second->before = [](const StopSignal&) { throw std::runtime_error("the fan stopped"); };
  const SearchResult whole = session()->search("word", 10, Texts::none);
  expect_first_stage_order(whole, bm25);
  EXPECT_EQ(status_of(whole), "failed");
  EXPECT_TRUE(whole.degraded);
  EXPECT_FALSE(whole.by_earlier_stages);

  config.rescorer.on_error = OnError::previous_stage;
  const SearchResult before = session()->search("word", 10, Texts::none);
  EXPECT_EQ(ids_of(before), ids_of(std::vector<std::size_t>{5, 1, 0, 3, 4, 2, 6, 7}));
  EXPECT_EQ(before.hits[0].score, 9);
  EXPECT_EQ(before.hits[5].score, 1);
  for (const SearchHit& hit : before.hits) EXPECT_EQ(hit.stage_logits.size(), hit.first_stage_rank <= 6 ? 1U : 0U);
  EXPECT_EQ(status_of(before), "rescored");
  EXPECT_TRUE(before.degraded && before.by_earlier_stages);
  EXPECT_EQ(before.stages.size(), 1U);
  EXPECT_NE(before.reason.find("stage 2 of 2"), std::string::npos) << before.reason;

  first->before = second->before;
  expect_first_stage_order(session()->search("word", 10, Texts::none), bm25);
  config.rescorer.on_error = OnError::fail;
  expect_error(ErrorKind::io, {"the fan stopped"}, [&] { session()->search("word", 10, Texts::none); });
}

class SearchSessionCache : public SearchSessionStages {
 protected:
  void SetUp() override {
    SearchSessionStages::SetUp();
    for (StageConfig& stage : config.rescorer.stages) stage.cache_mb = 1;
  }
};

TEST_F(SearchSessionCache, GivesTheSameAnswerWithoutAskingTheScorers) {
  const auto open = session();
  const SearchResult computed = open->search("word", 10, Texts::none);
  EXPECT_EQ(computed.cached, 0);
  first->shift = second->shift = 100;  // would be seen in what is computed again
  const SearchResult kept = open->search("word", 10, Texts::none);
  EXPECT_EQ(first->sizes, std::vector<std::size_t>{6});
  EXPECT_EQ(second->sizes, std::vector<std::size_t>{3});
  EXPECT_EQ(kept.cached, 9);
  EXPECT_EQ(kept.rescored, 6);
  ASSERT_EQ(kept.stages.size(), 2U);
  EXPECT_EQ(kept.stages[0].cached, 6);
  EXPECT_EQ(kept.stages[1].cached, 3);
  ASSERT_EQ(ids_of(kept), ids_of(computed));
  for (std::size_t i = 0; i < kept.hits.size(); ++i) {
    EXPECT_EQ(kept.hits[i].score, computed.hits[i].score);
    EXPECT_EQ(kept.hits[i].stage_logits, computed.hits[i].stage_logits);
  }
  const SearchResult other = open->search("word other1", 10, Texts::none);
  EXPECT_EQ(other.cached, 0) << "of another query";
  for (std::size_t i = 0; i < 6; ++i) EXPECT_GT(other.hits.at(i).stage_logits.at(0), 100);
}

TEST_F(SearchSessionCache, DoesNotKeepWhatTheScorerForbidsNorWhatFailed) {
  const auto open = session();
  second->before = [](const StopSignal&) { throw std::runtime_error("the fan stopped"); };
  EXPECT_EQ(status_of(open->search("word", 10, Texts::none)), "failed");
  second->before = {};
  const SearchResult later = open->search("word", 10, Texts::none);
  EXPECT_EQ(later.stages.at(0).cached, 6);
  EXPECT_EQ(later.stages.at(1).cached, 0);
  first->can_be_kept = false;
  const auto without = session();
  without->search("word", 10, Texts::none);
  EXPECT_EQ(without->search("word", 10, Texts::none).stages.at(0).cached, 0);
}

}  // namespace
}  // namespace relucent::testing
