#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;
using Documents = std::vector<std::int32_t>;

class RescoringRescorer : public ::testing::Test {
 protected:
  // First stage: 0 1 2 3 4 5 6 7 8 9. Scorer: 4 (9) 1 (5) 0 (3) 3 (2, tie) 5 (2) 2 (1); 6..9 are beyond a window of 6.
  SmallIndex index{ten_documents({"3", "5", "1 long", "2", "9", "2", "70", "80", "90", "100"})};
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();
  Config config = small_config();
  Lucene::SearcherPtr searcher = bm25_searcher(index);
  Lucene::TopDocsPtr first = searcher->search(term_query("word"), 10);

  void SetUp() override {
    config.rescorer.window = 6;
    ASSERT_EQ(documents_of(first), (Documents{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
};

TEST_F(RescoringRescorer, OrdersTheWindowByTheScorerAndLeavesTheRestBelow) {
  const auto answer = Rescorer(config, scorer).rescore(searcher, first, "words", 10);
  EXPECT_EQ(documents_of(answer), (Documents{4, 1, 0, 3, 5, 2, 6, 7, 8, 9}));
  EXPECT_FALSE(answer->degraded);
  EXPECT_EQ(answer->totalHits, 10);
  EXPECT_EQ(answer->maxScore, 9);
  EXPECT_EQ(answer->rescored, 6);
  EXPECT_EQ(answer->truncated, 1);
  EXPECT_EQ(answer->queryText, "words");
  const auto scores = scores_of(answer);
  EXPECT_TRUE(std::is_sorted(scores.rbegin(), scores.rend()));
}

TEST_F(RescoringRescorer, ScoresTheWholeWindowInOneCallWhateverIsAskedFor) {
  const Rescorer rescorer(config, scorer);
  for (const std::int32_t n : {1, 3, 6, 7, 10, 1000}) {
    const auto answer = rescorer.rescore(searcher, first, "words", n);
    const Documents all{4, 1, 0, 3, 5, 2, 6, 7, 8, 9};
    EXPECT_EQ(documents_of(answer), Documents(all.begin(), all.begin() + std::min(n, 10)));
    EXPECT_EQ(answer->maxScore, 9);
    EXPECT_EQ(answer->totalHits, 10);
  }
  EXPECT_EQ(scorer->sizes, std::vector<std::size_t>(6, 6));
  EXPECT_EQ(scorer->ids, (std::vector<std::string>{"d0", "d1", "d2", "d3", "d4", "d5"}));
}

TEST_F(RescoringRescorer, EachHitCarriesWhereItCameFrom) {
  const auto answer = Rescorer(config, scorer).rescore(searcher, first, "words", 10);
  const auto best = rescored_hit(answer, 0);
  EXPECT_EQ(best->status, HitStatus::rescored);
  EXPECT_EQ(best->first_stage_rank, 5);
  EXPECT_EQ(best->first_stage_score, first->scoreDocs[4]->score);
  EXPECT_EQ(best->logit, 9.F);
  EXPECT_FALSE(best->truncated);
  const auto cut = rescored_hit(answer, 5);
  EXPECT_TRUE(cut->truncated);
  EXPECT_EQ(cut->tokens, 6);
  const auto beyond = rescored_hit(answer, 6);
  EXPECT_EQ(beyond->status, HitStatus::beyond_window);
  EXPECT_EQ(beyond->first_stage_rank, 7);
  EXPECT_FALSE(beyond->logit);
  EXPECT_LT(beyond->score, cut->score);
}

TEST_F(RescoringRescorer, LeavesTheFirstPassAsItWas) {
  const auto documents = documents_of(first);
  const auto scores = scores_of(first);
  const auto hits = std::vector<Lucene::ScoreDocPtr>(first->scoreDocs.begin(), first->scoreDocs.end());
  const double best = first->maxScore;
  Rescorer(config, scorer).rescore(searcher, first, "words", 3);
  EXPECT_EQ(documents_of(first), documents);
  EXPECT_EQ(scores_of(first), scores);
  EXPECT_EQ(first->maxScore, best);
  EXPECT_EQ(std::vector<Lucene::ScoreDocPtr>(first->scoreDocs.begin(), first->scoreDocs.end()), hits);
}

TEST_F(RescoringRescorer, IsIdempotent) {
  for (const ScoreMode mode : {ScoreMode::replace, ScoreMode::total, ScoreMode::multiply}) {
    config.rescorer.score_mode = mode;
    const Rescorer rescorer(config, scorer);
    const auto once = rescorer.rescore(searcher, first, "words", 10);
    const auto again = rescorer.rescore(searcher, first, "words", 10);
    const auto twice = rescorer.rescore(searcher, once, "words", 10);
    EXPECT_EQ(documents_of(again), documents_of(once));
    EXPECT_EQ(scores_of(again), scores_of(once));
    EXPECT_EQ(documents_of(twice), documents_of(once));
    EXPECT_EQ(scores_of(twice), scores_of(once));
  }
}

TEST_F(RescoringRescorer, ASubsetOfTheHitsKeepsItsScores) {
  const Rescorer rescorer(config, scorer);
  const auto all = rescorer.rescore(searcher, first, "words", 10);
  const auto three = rescorer.rescore(searcher, searcher->search(term_query("word"), 3), "words", 10);
  EXPECT_EQ(documents_of(three), (Documents{1, 0, 2}));
  EXPECT_EQ(scores_of(three), (std::vector<double>{5, 3, 1}));
  EXPECT_EQ(three->totalHits, 10);
}

TEST_F(RescoringRescorer, MissingAndEmptyTextsGoToTheBottomOfTheWindowInFirstStageOrder) {
  const SmallIndex gaps(ten_documents({std::nullopt, "1", " \n\t", "2", "", "3", "4", "5", "6", "7"}));
  const Lucene::SearcherPtr gaps_searcher = bm25_searcher(gaps);
  const auto pass = gaps_searcher->search(term_query("word"), 10);
  const auto answer = Rescorer(config, scorer).rescore(gaps_searcher, pass, "words", 10);
  EXPECT_EQ(documents_of(answer), (Documents{5, 3, 1, 0, 2, 4, 6, 7, 8, 9}));
  EXPECT_EQ(answer->without_text, 3);
  EXPECT_EQ(answer->rescored, 3);
  EXPECT_EQ(rescored_hit(answer, 3)->status, HitStatus::without_text);
  EXPECT_FALSE(rescored_hit(answer, 3)->logit);
  EXPECT_FALSE(answer->degraded);
}

TEST_F(RescoringRescorer, WithoutAnyTextTheFirstStageStandsAndTheScorerIsNotAsked) {
  const SmallIndex none(ten_documents({}));
  const Lucene::SearcherPtr none_searcher = bm25_searcher(none);
  const auto pass = none_searcher->search(term_query("word"), 10);
  const auto answer = Rescorer(config, scorer).rescore(none_searcher, pass, "words", 10);
  EXPECT_EQ(documents_of(answer), documents_of(pass));
  EXPECT_EQ(scores_of(answer), scores_of(pass));
  EXPECT_EQ(answer->without_text, 6);
  EXPECT_TRUE(scorer->sizes.empty());
}

TEST_F(RescoringRescorer, NoHitsGiveAnEmptyAnswer) {
  const auto answer =
      Rescorer(config, scorer).rescore(searcher, searcher->search(term_query("absent"), 10), "words", 10);
  EXPECT_EQ(answer->scoreDocs.size(), 0);
  EXPECT_EQ(answer->totalHits, 0);
  EXPECT_TRUE(std::isnan(answer->maxScore));
  EXPECT_FALSE(answer->degraded);
}

TEST_F(RescoringRescorer, MinScoreDropsHitsAndReportsHowMany) {
  config.rescorer.min_score = 2.5;
  const auto answer = Rescorer(config, scorer).rescore(searcher, first, "words", 10);
  EXPECT_EQ(documents_of(answer), (Documents{4, 1, 0}));
  EXPECT_EQ(answer->belowMinScore, 7);
  EXPECT_EQ(answer->totalHits, 10);
}

// The worst of the window first; hits beyond it stay.
class UpsideDown : public Rescorer {
 public:
  using Rescorer::Rescorer;

 protected:
  std::vector<CombinedHit> combine(std::span<const double> first_stage,
                                   std::span<const std::optional<float>> logits) const override {
    std::vector<std::optional<float>> negated;
    for (const auto& logit : logits) negated.push_back(logit ? std::optional(-*logit) : logit);
    return Rescorer::combine(first_stage, negated);
  }
};

TEST_F(RescoringRescorer, CombineCanBeReplacedBySubclasses) {
  const auto answer = UpsideDown(config, scorer).rescore(searcher, first, "words", 10);
  EXPECT_EQ(documents_of(answer), (Documents{2, 3, 5, 0, 1, 4, 6, 7, 8, 9}));
  EXPECT_EQ(rescored_hit(answer, 0)->logit, 1.F);
}

// Notes the order in which documents are read.
class ReadingOrder : public Lucene::IndexSearcher {
 public:
  explicit ReadingOrder(const Lucene::IndexReaderPtr& index) : Lucene::IndexSearcher(index) {}
  using Lucene::IndexSearcher::doc;
  Lucene::DocumentPtr doc(std::int32_t n, const Lucene::FieldSelectorPtr& selector) override {
    read.push_back(n);
    return Lucene::IndexSearcher::doc(n, selector);
  }
  Documents read;
};

TEST_F(RescoringRescorer, ReadsStoredTextsInTheOrderOfDocumentNumbersOnceEach) {
  const auto reading = newLucene<ReadingOrder>(index.reader());
  auto shuffled = Lucene::Collection<Lucene::ScoreDocPtr>::newInstance();
  for (const std::int32_t document : {7, 2, 9, 0, 4, 1}) {
    shuffled.add(newLucene<Lucene::ScoreDoc>(document, 10.0 - shuffled.size()));
  }
  const auto answer =
      Rescorer(config, scorer).rescore(reading, newLucene<Lucene::TopDocs>(6, shuffled, 10.0), "words", 10);
  EXPECT_EQ(reading->read, (Documents{0, 1, 2, 4, 7, 9}));
  EXPECT_EQ(scorer->ids, (std::vector<std::string>{"d7", "d2", "d9", "d0", "d4", "d1"}));
  EXPECT_EQ(documents_of(answer), (Documents{9, 7, 4, 1, 0, 2}));
}

TEST_F(RescoringRescorer, ExplanationsHaveTheScoreOfTheSearch) {
  const SmallIndex gaps(ten_documents({"3", "5", std::nullopt, "2", "9", "2", "7"}));
  const Lucene::SearcherPtr gaps_searcher = bm25_searcher(gaps);
  const auto pass = gaps_searcher->search(term_query("word"), 10);
  for (const ScoreMode mode :
       {ScoreMode::replace, ScoreMode::total, ScoreMode::multiply, ScoreMode::avg, ScoreMode::max, ScoreMode::min}) {
    for (const Normalize normalize : {Normalize::none, Normalize::minmax, Normalize::sigmoid}) {
      config.rescorer.score_mode = mode;
      config.rescorer.normalize = normalize;
      const Rescorer rescorer(config, scorer);
      const auto answer = rescorer.rescore(gaps_searcher, pass, "words", 10);
      for (const auto& hit : answer->scoreDocs) {
        const auto bm25 = gaps_searcher->explain(term_query("word"), hit->doc);
        const auto explained = rescorer.explain(gaps_searcher, pass, bm25, "words", hit->doc);
        EXPECT_EQ(explained->getValue(), hit->score);
        EXPECT_NE(explained->toString().find(bm25->getDescription()), Lucene::String::npos);
        const std::size_t calls = scorer->sizes.size();
        EXPECT_EQ(rescorer.explain(answer, bm25, hit->doc)->toString(), explained->toString());
        EXPECT_EQ(scorer->sizes.size(), calls) << "the window was scored again";
      }
    }
  }
}

TEST_F(RescoringRescorer, ExplanationsNameTheModelTheRankAndWhatWasCutOff) {
  config.rescorer.score_mode = ScoreMode::total;
  config.rescorer.query_weight = 0.25;
  const Rescorer rescorer(config, scorer);
  const auto bm25 = searcher->explain(term_query("word"), 2);
  const std::string text = to_utf8(rescorer.explain(searcher, first, bm25, "words", 2)->toString());
  for (const char* part : {"score_mode total", "the number in the text", "6 tokens", "was cut off", "query_weight 0.25",
                           "first-stage rank 3"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST_F(RescoringRescorer, ExplainsTheHitsOfARescorerAlone) {
  const auto others =
      newLucene<RescoredTopDocs>(0, Lucene::Collection<Lucene::ScoreDocPtr>::newInstance(), 0, RescoreReport());
  EXPECT_THROW(Rescorer(config, scorer).explain(others, searcher->explain(term_query("word"), 2), 2), Error);
}

TEST_F(RescoringRescorer, RefusesToReturnFewerThanOneHit) {
  EXPECT_THROW(Rescorer(config, scorer).rescore(searcher, first, "words", 0), Error);
}

}  // namespace
}  // namespace relucent
