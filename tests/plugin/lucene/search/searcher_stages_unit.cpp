// A cascade behind the engine's own search().
#include <gtest/gtest.h>

#include <cmath>

#include "relucent/rescore_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

/// The number that the text ends with, after its last blank.
class LastNumberScorer : public NumberScorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    NumberScorer::score(query, candidates, scores, stop);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::string text(candidates[i].text);
      scores[i].score = std::strtof(text.c_str() + text.rfind(' '), nullptr);
    }
  }
  std::string describe() const override { return "the last number"; }
};

class SearcherStages : public ::testing::Test {
 protected:
  SmallIndex index{ten_documents({"3 1", "5 2", "1 9", "2 9", std::nullopt, "9 3", "7 7", "8 8"})};
  std::shared_ptr<NumberScorer> first = std::make_shared<NumberScorer>();
  std::shared_ptr<LastNumberScorer> second = std::make_shared<LastNumberScorer>();
  Config config = small_config();
  Lucene::QueryPtr query = newLucene<RescoreQuery>(term_query("word"), "some words");

  void SetUp() override {
    config.rescorer.stages.resize(2);
    config.rescorer.stages[0].window = 6;
    config.rescorer.stages[1].window = 3;
  }
  boost::shared_ptr<RescoringSearcher> searcher() const {
    return newLucene<RescoringSearcher>(
        index.reader(), config,
        std::make_shared<Rescorer>(config, std::vector<std::shared_ptr<const Scorer>>{first, second}));
  }
  RescoredTopDocsPtr search(std::int32_t n = 10) const {
    return rescored(boost::static_pointer_cast<Lucene::Searcher>(searcher())->search(query, n));
  }
};

TEST_F(SearcherStages, EachHitHasTheScoreOfEachStageThatScoredIt) {
  const auto answer = search();
  // After the first stage 5 (9), 1 (5), 0 (3), 3 (2), 2 (1), 4 (no text); the second one scores 5 (3), 1 (2), 0 (1).
  EXPECT_EQ(documents_of(answer), (std::vector<std::int32_t>{5, 1, 0, 3, 2, 4, 6, 7, 8, 9}));
  EXPECT_EQ(rescored_hit(answer, 0)->stage_logits, (std::vector<float>{9, 3}));
  EXPECT_EQ(rescored_hit(answer, 0)->logit, 3.F);
  EXPECT_EQ(rescored_hit(answer, 3)->stage_logits, (std::vector<float>{2}));
  EXPECT_EQ(rescored_hit(answer, 3)->status, HitStatus::rescored);
  EXPECT_EQ(rescored_hit(answer, 5)->status, HitStatus::without_text);
  EXPECT_EQ(rescored_hit(answer, 6)->status, HitStatus::beyond_window);
  EXPECT_TRUE(rescored_hit(answer, 6)->stage_logits.empty());
  const auto scores = scores_of(answer);
  EXPECT_TRUE(std::is_sorted(scores.rbegin(), scores.rend()));
}

TEST_F(SearcherStages, TheAnswerTellsWhatEachStageDidAndHowLongItTook) {
  first->before = second->before = [](const StopSignal&) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  const auto answer = search();
  EXPECT_EQ(answer->rescored, 5);
  EXPECT_EQ(answer->without_text, 1);
  ASSERT_EQ(answer->stages.size(), 2U);
  EXPECT_EQ(answer->stages[0].scorer, "the number in the text");
  EXPECT_EQ(answer->stages[0].rescored, 5);
  EXPECT_EQ(answer->stages[1].scorer, "the last number");
  EXPECT_EQ(answer->stages[1].rescored, 3);
  for (const StageReport& stage : answer->stages) EXPECT_GE(in_milliseconds(stage.times.encode), 2);
  EXPECT_EQ(answer->times.encode, answer->stages[0].times.encode + answer->stages[1].times.encode);
  EXPECT_EQ(answer->times.fetch, answer->stages[0].times.fetch + answer->stages[1].times.fetch);
}

TEST_F(SearcherStages, TheOrderDoesNotDependOnThePage) {
  EXPECT_EQ(documents_of(search(2)), (std::vector<std::int32_t>{5, 1}));
  EXPECT_EQ(documents_of(search(4)), (std::vector<std::int32_t>{5, 1, 0, 3}));
}

TEST_F(SearcherStages, ExplanationsHaveTheScoreOfTheSearch) {
  for (const ScoreMode mode : {ScoreMode::replace, ScoreMode::total}) {
    config.rescorer.stages[0].score_mode = config.rescorer.stages[1].score_mode = mode;
    const auto asked = searcher();
    const auto answer = search();
    for (const auto& hit : answer->scoreDocs) {
      const auto explained = boost::static_pointer_cast<Lucene::Searcher>(asked)->explain(query, hit->doc);
      EXPECT_EQ(explained->getValue(), hit->score) << to_utf8(explained->toString());
    }
    const auto both = to_utf8(boost::static_pointer_cast<Lucene::Searcher>(asked)->explain(query, 5)->toString());
    EXPECT_NE(both.find("the number in the text"), std::string::npos) << both;
    EXPECT_NE(both.find("the last number"), std::string::npos) << both;
    const auto one = to_utf8(boost::static_pointer_cast<Lucene::Searcher>(asked)->explain(query, 3)->toString());
    EXPECT_NE(one.find("score of stage 1, lowered to stay below the hits that stage 2 scored"), std::string::npos)
        << one;
  }
}

TEST_F(SearcherStages, AFailedLaterStageLeavesTheWholeOfAnEarlierOrder) {
  second->before = [](const StopSignal&) { throw std::runtime_error("the fan stopped"); };
  const auto bm25 = bm25_searcher(index)->search(term_query("word"), 10);
  const auto whole = search();
  EXPECT_TRUE(whole->degraded);
  EXPECT_EQ(whole->status, RescoreStatus::failed);
  EXPECT_EQ(documents_of(whole), documents_of(bm25));
  EXPECT_EQ(scores_of(whole), scores_of(bm25));

  config.rescorer.on_error = OnError::previous_stage;
  const auto by_first = search();
  EXPECT_TRUE(by_first->degraded);
  EXPECT_EQ(by_first->status, RescoreStatus::rescored);
  EXPECT_EQ(by_first->stages.size(), 1U);
  EXPECT_NE(by_first->reason.find("the fan stopped"), std::string::npos);
  EXPECT_EQ(documents_of(by_first), (std::vector<std::int32_t>{5, 1, 0, 3, 2, 4, 6, 7, 8, 9}));
  EXPECT_EQ(by_first->scoreDocs[0]->score, 9);
}

TEST_F(SearcherStages, BothStagesReadTheWordsOfStems) {
  config.first_stage.analyzer = AnalyzerKind::english;
  const auto plain = boost::static_pointer_cast<Lucene::Searcher>(searcher())->search(term_query("word"), 10);
  EXPECT_EQ(first->queries, second->queries);
  EXPECT_EQ(rescored(plain)->queryText, first->queries.back());
}

}  // namespace
}  // namespace relucent
