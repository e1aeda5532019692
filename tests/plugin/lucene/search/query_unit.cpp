#include <gtest/gtest.h>

#include "relucent/english_analyzer.h"
#include "relucent/rescore_query.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/text_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;
using boost::dynamic_pointer_cast;

RescoreQueryPtr make(const std::string& word, const std::string& text) {
  return newLucene<RescoreQuery>(term_query(word), text);
}

TEST(RescoringQuery, EqualityHashAndCloneCoverInnerQueryTextAndBoost) {
  const auto query = make("word", "the words");
  EXPECT_TRUE(query->equals(make("word", "the words")));
  EXPECT_EQ(query->hashCode(), make("word", "the words")->hashCode());
  EXPECT_FALSE(query->equals(make("word", "other words")));
  EXPECT_FALSE(query->equals(make("other", "the words")));
  EXPECT_FALSE(query->equals(term_query("word")));

  const auto copy = dynamic_pointer_cast<RescoreQuery>(query->clone());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->equals(query));
  EXPECT_NE(copy->inner(), query->inner());
  copy->setBoost(2);
  EXPECT_FALSE(copy->equals(query));
  EXPECT_EQ(query->getBoost(), 1);
}

TEST(RescoringQuery, StatesWhatItIs) {
  EXPECT_EQ(to_utf8(make("word", "the words")->toString(L"contents")), "rescore(word, \"the words\")");
}

TEST(RescoringQuery, MalformedTextIsRepairedOnce) {
  EXPECT_EQ(make("word",
                 "a\xff"
                 "b")
                ->text(),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(RescoringQuery, APlainSearcherTreatsItAsTheInnerQuery) {
  const SmallIndex index(ten_documents({}));
  const auto plain = newLucene<Lucene::IndexSearcher>(index.reader());
  const auto query = make("word", "the words");
  const auto expected = plain->search(term_query("word"), 10);
  const auto answer = plain->search(query, 10);
  EXPECT_EQ(documents_of(answer), documents_of(expected));
  EXPECT_EQ(scores_of(answer), scores_of(expected));
  EXPECT_EQ(documents_of(bm25_searcher(index)->search(query, 10)), documents_of(expected));

  auto terms = Lucene::SetTerm::newInstance();
  query->extractTerms(terms);
  EXPECT_EQ(terms.size(), 1);
}

TEST(RescoringQuery, RewritingHandsItsBoostToTheInnerQuery) {
  const SmallIndex index(ten_documents({}));
  const auto query = make("word", "the words");
  query->setBoost(3);
  const auto rewritten = query->rewrite(index.reader());
  EXPECT_EQ(rewritten->getBoost(), 3);
  EXPECT_EQ(query->inner()->getBoost(), 1);
}

Lucene::QueryParserPtr parser() { return newLucene<RescoringQueryParser>(Config()); }

TEST(RescoringQueryParserTest, ParseThroughTheBaseClassKeepsTheText) {
  const Lucene::QueryParserPtr base = parser();
  for (const char* text : {"effects of sparse attention", "what IS  naïve?", "\"a phrase\" +must -not title:x^2"}) {
    const auto query = dynamic_pointer_cast<RescoreQuery>(base->parse(to_lucene(text)));
    ASSERT_TRUE(query) << text;
    EXPECT_EQ(query->text(), text);
    EXPECT_GT(query->parseTime.count(), 0);
  }
}

TEST(RescoringQueryParserTest, TheInnerQueryIsTheOneOfQueryParser) {
  const Lucene::QueryParserPtr plain =
      newLucene<Lucene::QueryParser>(Lucene::LuceneVersion::LUCENE_30, L"contents", newLucene<EnglishAnalyzer>());
  const Lucene::QueryParserPtr ours = parser();
  for (const wchar_t* text : {L"sparse attention", L"+a \"b c\"~2 d*", L"(x OR y) AND z^3", L"running runs"}) {
    EXPECT_TRUE(dynamic_pointer_cast<RescoreQuery>(ours->parse(text))->inner()->equals(plain->parse(text)));
  }
}

TEST(RescoringQueryParserTest, EscapesAreNoPartOfTheText) {
  const auto query = dynamic_pointer_cast<RescoreQuery>(parser()->parse(L"what is c\\+\\+ \\(and c#\\)\\?"));
  ASSERT_TRUE(query);
  EXPECT_EQ(query->text(), "what is c++ (and c#)?");
}

TEST(RescoringQueryParserTest, StopWordsAloneGiveAQueryThatMatchesNothing) {
  const auto query = dynamic_pointer_cast<RescoreQuery>(parser()->parse(L"to be or not"));
  ASSERT_TRUE(query);
  EXPECT_EQ(query->text(), "to be or not");
  const SmallIndex index(ten_documents({}));
  EXPECT_EQ(bm25_searcher(index)->search(query, 10)->totalHits, 0);
}

TEST(RescoringQueryParserTest, WrongSyntaxIsTheParsersOwnError) {
  EXPECT_THROW(parser()->parse(L"(unbalanced"), Lucene::QueryParserError);
}

TEST(RescoringQueryTextScope, NestsAndBelongsToItsThread) {
  EXPECT_EQ(QueryTextScope::current(), nullptr);
  {
    const QueryTextScope outer("outer");
    {
      const QueryTextScope inner("inner");
      EXPECT_EQ(*QueryTextScope::current(), "inner");
      const std::string* elsewhere = &*QueryTextScope::current();
      std::thread([&] { elsewhere = QueryTextScope::current(); }).join();
      EXPECT_EQ(elsewhere, nullptr);
    }
    EXPECT_EQ(*QueryTextScope::current(), "outer");
  }
  EXPECT_EQ(QueryTextScope::current(), nullptr);
}

TEST(RescoringTextQuery, IsAFlatQueryOfTheAnalyzersWordsWithCounts) {
  const Config config;  // English
  const auto query = makeTextQuery("Running (the) runs \"OR\" fast: run?", config);
  EXPECT_EQ(query->text(), "Running (the) runs \"OR\" fast: run?");
  EXPECT_EQ(to_utf8(query->inner()->toString(L"contents")), "run^3.0 fast");
}

TEST(RescoringTextQuery, MayHaveMoreWordsThanABooleanQueryMayHaveClauses) {
  const std::int32_t limit = Lucene::BooleanQuery::getMaxClauseCount();
  const SmallIndex index(ten_documents({}));
  std::string text = "word";
  for (std::int32_t i = 0; i < 3 * limit; ++i) text += " absent" + std::to_string(i);
  const auto query = makeTextQuery(text, small_config());
  EXPECT_EQ(Lucene::BooleanQuery::getMaxClauseCount(), limit);
  for (const auto& searcher : {bm25_searcher(index), newLucene<Lucene::IndexSearcher>(index.reader())}) {
    EXPECT_EQ(documents_of(searcher->search(query, 10)), documents_of(searcher->search(term_query("word"), 10)));
  }
  EXPECT_EQ(scores_of(bm25_searcher(index)->search(query, 10)),
            scores_of(bm25_searcher(index)->search(term_query("word"), 10)));
}

TEST(RescoringTextQuery, OfStopWordsAloneOrNothingMatchesNothing) {
  const SmallIndex index(ten_documents({}));
  const auto searcher = bm25_searcher(index);
  for (const char* text : {"the of", "", " \t", "?!"}) {
    EXPECT_EQ(searcher->search(makeTextQuery(text, Config()), 10)->totalHits, 0) << text;
  }
}

}  // namespace
}  // namespace relucent
