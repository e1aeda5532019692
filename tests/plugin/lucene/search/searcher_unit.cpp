#include <PhraseQuery.h>
#include <PrefixQuery.h>
#include <QueryWrapperFilter.h>
#include <Sort.h>
#include <SortField.h>
#include <TopFieldDocs.h>
#include <TopScoreDocCollector.h>
#include <gtest/gtest.h>

#include "relucent/rescore_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;
using Documents = std::vector<std::int32_t>;

class RescoringSearcherTest : public ::testing::Test {
 protected:
  SmallIndex index{ten_documents({"3", "5", "1", "2", "9", "2", "70", "80", "90", "100"})};
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();
  Config config = small_config();

  void SetUp() override { config.rescorer.window = 6; }
  Lucene::IndexSearcherPtr searcher() { return rescoring_searcher(index, config, scorer); }
  static Lucene::QueryPtr with_text(const std::string& text) {
    return newLucene<RescoreQuery>(term_query("word"), text);
  }
};

TEST_F(RescoringSearcherTest, SearchThroughAnIndexSearcherPtrIsRescored) {
  const auto answer = rescored(searcher()->search(with_text("some words"), 10));
  EXPECT_EQ(documents_of(answer), (Documents{4, 1, 0, 3, 5, 2, 6, 7, 8, 9}));
  EXPECT_EQ(answer->queryText, "some words");
  EXPECT_EQ(answer->queryTextSource, QueryTextSource::query);
  EXPECT_GT(answer->times.first_stage.count(), 0);
}

TEST_F(RescoringSearcherTest, ThePageAskedForDoesNotChangeTheWindow) {
  const auto all = searcher()->search(with_text("some words"), 10);
  for (const std::int32_t n : {1, 2, 5, 6, 7, 9}) {
    const auto page = searcher()->search(with_text("some words"), n);
    ASSERT_EQ(page->scoreDocs.size(), n);
    for (std::int32_t i = 0; i < n; ++i) {
      EXPECT_EQ(page->scoreDocs[i]->doc, all->scoreDocs[i]->doc);
      EXPECT_EQ(page->scoreDocs[i]->score, all->scoreDocs[i]->score);
    }
    EXPECT_EQ(page->totalHits, 10);
    EXPECT_EQ(page->maxScore, all->maxScore);
  }
  for (const std::size_t size : scorer->sizes) EXPECT_EQ(size, 6U);
}

TEST_F(RescoringSearcherTest, TheQuerysOwnTextComesBeforeTheScopesAndThatBeforeItsTerms) {
  const auto plain = term_query("word");
  const auto from_terms = rescored(searcher()->search(plain, 3));
  EXPECT_EQ(from_terms->queryText, "word");
  EXPECT_EQ(from_terms->queryTextSource, QueryTextSource::terms);
  EXPECT_FALSE(from_terms->degraded);
  const QueryTextScope scope("scope's words");
  const auto from_scope = rescored(searcher()->search(plain, 3));
  EXPECT_EQ(from_scope->queryText, "scope's words");
  EXPECT_EQ(from_scope->queryTextSource, QueryTextSource::scope);
  EXPECT_EQ(rescored(searcher()->search(with_text("own words"), 3))->queryText, "own words");
}

TEST_F(RescoringSearcherTest, ARescoreQueryWithinClausesIsFound) {
  const auto query = newLucene<Lucene::BooleanQuery>();
  query->add(term_query("d3", "id"), Lucene::BooleanClause::MUST_NOT);
  query->add(with_text("inner words"), Lucene::BooleanClause::MUST);
  const auto answer = rescored(searcher()->search(query, 10));
  EXPECT_EQ(answer->queryText, "inner words");
  EXPECT_EQ(answer->totalHits, 9);
}

TEST_F(RescoringSearcherTest, TermsAreTakenInOrderFromWhatMayMatchInTheContentsField) {
  const auto phrase = newLucene<Lucene::PhraseQuery>();
  phrase->add(newLucene<Lucene::Term>(L"contents", L"word"));
  phrase->add(newLucene<Lucene::Term>(L"contents", L"other0"));
  const auto query = newLucene<Lucene::BooleanQuery>();
  query->add(term_query("zebra"), Lucene::BooleanClause::SHOULD);
  query->add(phrase, Lucene::BooleanClause::SHOULD);
  query->add(term_query("never"), Lucene::BooleanClause::MUST_NOT);
  query->add(term_query("d1", "id"), Lucene::BooleanClause::SHOULD);
  query->add(newLucene<Lucene::PrefixQuery>(newLucene<Lucene::Term>(L"contents", L"oth")),
             Lucene::BooleanClause::SHOULD);
  EXPECT_EQ(rescored(searcher()->search(query, 3))->queryText, "zebra word other0");
}

TEST_F(RescoringSearcherTest, StemsBecomeWordsOfTheTextsOnlyWithTheEnglishAnalyzer) {
  const SmallIndex stems({{"a", "2 What caused the Revolution?", "what caus revolut"},
                          {"b", "3 The causes of a revolution, its cause, causes, causes.", "caus revolut caus"},
                          {"c", "1 Nothing", "revolut"}});
  const auto query = newLucene<Lucene::BooleanQuery>();
  for (const char* term : {"caus", "revolut", "zzz"}) query->add(term_query(term), Lucene::BooleanClause::SHOULD);
  config.first_stage.analyzer = AnalyzerKind::english;
  const auto answer = rescored(rescoring_searcher(stems, config, scorer)->search(query, 10));
  EXPECT_EQ(answer->queryText, "causes revolution zzz");
  EXPECT_EQ(answer->queryTextSource, QueryTextSource::terms);
  EXPECT_EQ(scorer->queries.back(), "causes revolution zzz");
  EXPECT_EQ(rescored(rescoring_searcher(stems, config, scorer)->search(query, 1))->queryText, answer->queryText);
  config.first_stage.analyzer = AnalyzerKind::whitespace;
  EXPECT_EQ(rescored(rescoring_searcher(stems, config, scorer)->search(query, 10))->queryText, "caus revolut zzz");
}

TEST_F(RescoringSearcherTest, FiltersHoldBeforeTheWindowIsTaken) {
  const auto only = newLucene<Lucene::BooleanQuery>();
  for (const char* id : {"d2", "d8", "d9"}) only->add(term_query(id, "id"), Lucene::BooleanClause::SHOULD);
  const Lucene::FilterPtr filter = newLucene<Lucene::QueryWrapperFilter>(only);
  const auto answer = rescored(searcher()->search(with_text("some words"), filter, 10));
  EXPECT_EQ(documents_of(answer), (Documents{9, 8, 2}));
  EXPECT_EQ(answer->totalHits, 3);
}

TEST_F(RescoringSearcherTest, SearchesWithASortOrACollectorAreLeftToBM25) {
  const auto sort = newLucene<Lucene::Sort>(newLucene<Lucene::SortField>(L"id", Lucene::SortField::STRING, true));
  const auto sorted = searcher()->search(with_text("some words"), Lucene::FilterPtr(), 3, sort);
  EXPECT_EQ(documents_of(sorted), (Documents{9, 8, 7}));
  const auto collector = Lucene::TopScoreDocCollector::create(10, true);
  searcher()->search(with_text("some words"), collector);
  const auto bm25 = bm25_searcher(index)->search(term_query("word"), 10);
  const auto collected = collector->topDocs();
  EXPECT_EQ(documents_of(collected), documents_of(bm25));
  EXPECT_EQ(scores_of(collected), scores_of(bm25));
  EXPECT_TRUE(scorer->sizes.empty());
}

TEST_F(RescoringSearcherTest, ExplanationsHaveTheScoreOfTheSearchAlsoBeyondTheWindow) {
  for (const std::optional<double> min_score : {std::optional<double>(), std::optional<double>(-100)}) {
    config.rescorer.min_score = min_score;
    const auto query = with_text("some words");
    const auto answer = searcher()->search(query, 10);
    for (const auto& hit : answer->scoreDocs) {
      EXPECT_EQ(searcher()->explain(query, hit->doc)->getValue(), hit->score) << hit->doc;
    }
  }
  config.rescorer.min_score = 4;
  EXPECT_NE(searcher()->explain(with_text("x"), 2)->toString().find(L"below min_score"), Lucene::String::npos);
  EXPECT_FALSE(searcher()->explain(newLucene<RescoreQuery>(term_query("other8"), "x"), 0)->isMatch());
}

TEST_F(RescoringSearcherTest, FewerHitsThanTheWindowAreAllRescored) {
  const auto answer = rescored(searcher()->search(newLucene<RescoreQuery>(term_query("other7"), "x"), 10));
  EXPECT_EQ(documents_of(answer), (Documents{9, 8}));
  EXPECT_EQ(answer->rescored, 2);
}

}  // namespace
}  // namespace relucent
