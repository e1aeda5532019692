// What docs/embedding.md lists under "What changes": which habits of a Lucene++ program meet something else here, and
// that nothing of it happens in silence.
#include <ConstantScoreQuery.h>
#include <DefaultSimilarity.h>
#include <MatchAllDocsQuery.h>
#include <NumericRangeQuery.h>
#include <PhraseQuery.h>
#include <PrefixQuery.h>
#include <QueryWrapperFilter.h>
#include <TermRangeQuery.h>
#include <WildcardQuery.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "relucent/english_analyzer.h"
#include "relucent/index_builder.h"
#include "relucent/rescore_query.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/text_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

/// A searcher's log, as a test reads it.
class LogFile {
 public:
  LogConfig config() const { return {LogLevel::warning, (folder_ / "relucent.log").string()}; }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(folder_ / "relucent.log").rdbuf();
    return text.str();
  }
  std::size_t count(const std::string& words) const {
    const std::string all = text();
    std::size_t count = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1)) ++count;
    return count;
  }

 private:
  TemporaryFolder folder_;
};

Lucene::FieldPtr field(const wchar_t* name, const wchar_t* value, Lucene::Field::Store store,
                       Lucene::Field::Index index) {
  return newLucene<Lucene::Field>(name, value, store, index);
}

Lucene::DocumentPtr document(const wchar_t* id, const wchar_t* contents) {
  const auto made = newLucene<Lucene::Document>();
  made->add(field(L"id", id, Lucene::Field::STORE_YES, Lucene::Field::INDEX_NOT_ANALYZED_NO_NORMS));
  made->add(field(L"text", L"5", Lucene::Field::STORE_YES, Lucene::Field::INDEX_NO));
  made->add(field(L"contents", contents, Lucene::Field::STORE_NO, Lucene::Field::INDEX_ANALYZED));
  return made;
}

/// As a Lucene++ program writes it; `similarity` may be null.
void write_index(const TemporaryFolder& folder, const std::vector<Lucene::DocumentPtr>& documents,
                 const Lucene::SimilarityPtr& similarity = {}) {
  const auto writer = newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.path().string())),
                                                     newLucene<Lucene::WhitespaceAnalyzer>(), true,
                                                     Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(newLucene<Lucene::SerialMergeScheduler>());
  if (similarity) writer->setSimilarity(similarity);
  for (const auto& one : documents) writer->addDocument(one);
  writer->close();
}

class WhatChanges : public ::testing::Test {
 protected:
  LogFile log;
  TemporaryFolder folder;
  Config config = [this] {
    Config made = small_config();
    made.log = log.config();
    return made;
  }();
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();

  Lucene::IndexSearcherPtr plain() {
    config.rescorer.enabled = false;
    return openSearcher(folder.path(), config);
  }
};

TEST_F(WhatChanges, IndexTimeBoostsCountForNothingAndTheLogReportsItOnce) {
  const auto boosted = document(L"b", L"word two three");
  boosted->setBoost(8);
  write_index(folder, {document(L"a", L"word two three"), boosted});
  const auto searcher = plain();
  for (int i = 0; i < 3; ++i) {
    const auto hits = searcher->search(term_query("word"), 10);
    ASSERT_EQ(hits->scoreDocs.size(), 2);
    EXPECT_EQ(hits->scoreDocs[0]->score, hits->scoreDocs[1]->score);
  }
  EXPECT_EQ(log.count("index-time boosts"), 1U) << log.text();
  EXPECT_NE(boost::dynamic_pointer_cast<BM25Searcher>(searcher)->notice().find("contents"), std::string::npos);
  // Lengths kept next to the index give the same notice.
  plain();
  EXPECT_EQ(log.count("index-time boosts"), 2U) << log.text();
}

TEST_F(WhatChanges, ABoostOfOneFieldValueIsSeenAndLengthsAloneAreNone) {
  const auto boosted = document(L"b", L"word");
  const auto more = field(L"contents", L"two three", Lucene::Field::STORE_NO, Lucene::Field::INDEX_ANALYZED);
  more->setBoost(3);
  boosted->add(more);
  write_index(folder, {document(L"a", L"word two three"), boosted});
  plain();
  EXPECT_EQ(log.count("index-time boosts"), 1U) << log.text();

  // Every length from 1 to beyond what a length byte holds exactly; two values of the field; an empty one.
  std::vector<Lucene::DocumentPtr> documents;
  Lucene::String contents;
  for (int length = 1; length <= 3000; length += length < 300 ? 1 : 37) {
    contents.clear();
    for (int i = 0; i < length; ++i) contents += L"word ";
    documents.push_back(document(L"a", contents.c_str()));
  }
  documents.back()->add(field(L"contents", L"two", Lucene::Field::STORE_NO, Lucene::Field::INDEX_ANALYZED));
  documents.push_back(document(L"a", L""));
  const TemporaryFolder lengths_alone;
  write_index(lengths_alone, documents);
  const auto searcher = openSearcher(lengths_alone.path(), config);
  EXPECT_EQ(log.count("index-time boosts"), 1U) << log.text();
  EXPECT_EQ(boost::dynamic_pointer_cast<BM25Searcher>(searcher)->notice(), "");
}

class LengthsDoNotMatter : public Lucene::DefaultSimilarity {
 public:
  double lengthNorm(const Lucene::String&, std::int32_t) override { return 1; }
};

TEST_F(WhatChanges, TheWritersSimilarityCountsForNothingAndTheLogReportsIt) {
  write_index(folder, {document(L"a", L"word two three four five")}, newLucene<LengthsDoNotMatter>());
  plain();
  EXPECT_EQ(log.count("another Similarity"), 1U) << log.text();
}

TEST_F(WhatChanges, AHostsSimilarityChangesNothingAndTheLogReportsItOnce) {
  write_index(folder, {document(L"a", L"big word here"), document(L"b", L"word big word big word")});
  const auto phrase = newLucene<Lucene::PhraseQuery>();
  phrase->add(newLucene<Lucene::Term>(L"contents", L"big"));
  phrase->add(newLucene<Lucene::Term>(L"contents", L"word"));
  const auto searcher = plain();
  const auto before = searcher->search(phrase, 10);
  searcher->setSimilarity(newLucene<Lucene::DefaultSimilarity>());
  searcher->setSimilarity(newLucene<LengthsDoNotMatter>());
  const auto after = searcher->search(phrase, 10);
  EXPECT_EQ(documents_of(after), documents_of(before));
  EXPECT_EQ(scores_of(after), scores_of(before));
  EXPECT_EQ(log.count("Similarity set by this program"), 1U) << log.text();
}

TEST_F(WhatChanges, AllValuesOfTheTextFieldAreReadAndTheFirstIdCounts) {
  const auto three = document(L"first", L"word");
  three->add(field(L"text", L"and", Lucene::Field::STORE_YES, Lucene::Field::INDEX_NO));
  const std::string bytes = "caf\xC3\xA9";
  const auto binary = Lucene::ByteArray::newInstance(static_cast<std::int32_t>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), binary.get());
  three->add(newLucene<Lucene::Field>(L"text", binary, Lucene::Field::STORE_YES));
  three->add(field(L"id", L"second", Lucene::Field::STORE_YES, Lucene::Field::INDEX_NOT_ANALYZED_NO_NORMS));
  write_index(folder, {three});
  EXPECT_EQ(stored_text(three, "text"), "5 and café");
  EXPECT_EQ(first_stored_text(three, "text"), "5");

  class Seen : public NumberScorer {
   public:
    void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
               const StopSignal& stop) const override {
      for (const auto& candidate : candidates) texts.emplace_back(candidate.text);
      NumberScorer::score(query, candidates, scores, stop);
    }
    mutable std::vector<std::string> texts;
  };
  const auto seen = std::make_shared<Seen>();
  const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(folder.path().string())), true);
  const Lucene::IndexSearcherPtr searcher =
      newLucene<RescoringSearcher>(reader, config, std::make_shared<Rescorer>(config, seen));
  EXPECT_EQ(rescored(searcher->search(term_query("word"), 1))->rescored, 1);
  EXPECT_EQ(seen->texts, std::vector<std::string>{"5 and café"});
  EXPECT_EQ(seen->ids, std::vector<std::string>{"first"});
}

class AnotherAnalyzer : public WhatChanges {
 protected:
  static constexpr const char* kWarning = "the index's analyzer";

  Lucene::IndexSearcherPtr searcher_of(AnalyzerKind recorded) {
    config.first_stage.analyzer = recorded;
    config.log = log.config();
    IndexBuilder::Options options;
    options.first_stage = config.first_stage;
    const auto builder = IndexBuilder::open(folder.path() / "index", IndexBuilder::Mode::create, options);
    builder->add("a", "Finding Duplicate Files");
    builder->add("b", "A lens, and the relation of its parts");
    builder->commit({});
    builder->close();
    config.rescorer.enabled = false;
    return openSearcher(folder.path() / "index", config);
  }
  static Lucene::QueryPtr parsed(const Lucene::AnalyzerPtr& analyzer, const wchar_t* text) {
    return newLucene<Lucene::QueryParser>(Lucene::LuceneVersion::LUCENE_30, L"contents", analyzer)->parse(text);
  }
  static Lucene::AnalyzerPtr standard() {
    return newLucene<Lucene::StandardAnalyzer>(Lucene::LuceneVersion::LUCENE_30);
  }
};

TEST_F(AnotherAnalyzer, OfAQueryIsLoggedOnce) {
  const auto searcher = searcher_of(AnalyzerKind::english);
  for (int i = 0; i < 3; ++i) searcher->search(parsed(standard(), L"find duplicate files"), 10);
  EXPECT_EQ(log.count(kWarning), 1U) << log.text();
  EXPECT_EQ(log.count("\"duplicate\", but the index's analyzer (\"english\") makes \"duplic\""), 1U) << log.text();
}

TEST_F(AnotherAnalyzer, IsSeenInParsedTextsToo) {
  const auto searcher = searcher_of(AnalyzerKind::whitespace);
  RescoringQueryParser parser(Lucene::LuceneVersion::LUCENE_30, L"contents", standard());
  searcher->search(parser.parse(L"Duplicate Files"), 10);
  EXPECT_EQ(log.count("\"duplicate\", but the index's analyzer (\"whitespace\") makes \"Duplicate\""), 1U)
      << log.text();
}

TEST_F(AnotherAnalyzer, IsNotSuspectedBehindWordsThatTheIndexLacks) {
  const auto searcher = searcher_of(AnalyzerKind::english);
  searcher->search(parsed(newLucene<EnglishAnalyzer>(), L"duplicate files of absent words"), 10);
  searcher->search(parsed(standard(), L"absent words"), 10);  // the index has nothing of either form
  searcher->search(parsed(newLucene<EnglishAnalyzer>(), L"title:files find~ dupl* +(finding)"), 10);
  // "lenses" becomes "lens", which the index's "len" looks like the stem of.
  searcher->search(makeTextQuery("lenses", config), 10);
  // Words that the host added are not the text's.
  searcher->search(newLucene<RescoreQuery>(parsed(newLucene<EnglishAnalyzer>(), L"doubles"), "duplicate files"), 10);
  EXPECT_EQ(log.count(kWarning), 0U) << log.text();
}

class QueriesWithoutText : public ::testing::Test {
 protected:
  LogFile log;
  SmallIndex index{ten_documents({"3", "5", "1", "2", "9", "2", "70", "80", "90", "100"})};
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();
  Config config = [this] {
    Config made = small_config();
    made.log = log.config();
    made.rescorer.on_error = OnError::fail;  // a failure would throw
    return made;
  }();

  static Lucene::TermPtr term(const wchar_t* text) { return newLucene<Lucene::Term>(L"contents", text); }
  static std::vector<Lucene::QueryPtr> queries() {
    const auto both = newLucene<Lucene::BooleanQuery>();
    both->add(newLucene<Lucene::MatchAllDocsQuery>(), Lucene::BooleanClause::MUST);
    both->add(term_query("other8"), Lucene::BooleanClause::MUST_NOT);
    return {newLucene<Lucene::MatchAllDocsQuery>(),
            newLucene<Lucene::PrefixQuery>(term(L"wor")),
            newLucene<Lucene::WildcardQuery>(term(L"w*d")),
            newLucene<Lucene::TermRangeQuery>(L"contents", L"w", L"x", true, true),
            newLucene<Lucene::ConstantScoreQuery>(newLucene<Lucene::QueryWrapperFilter>(term_query("word"))),
            both,
            term_query("d3", "id"),
            newLucene<RescoreQuery>(term_query("word"), ""),
            newLucene<RescoreQuery>(term_query("word"), " \t\n")};
  }
};

TEST_F(QueriesWithoutText, AreAnsweredByBM25WhichIsNoFailure) {
  const auto searcher = rescoring_searcher(index, config, scorer);
  for (const auto& query : queries()) {
    SCOPED_TRACE(to_utf8(query->toString(L"contents")));
    const auto answer = rescored(searcher->search(query, 10));
    EXPECT_EQ(answer->status, RescoreStatus::no_query_text);
    EXPECT_FALSE(answer->degraded);
    EXPECT_EQ(answer->reason, "the query has no text for the model to read");
    EXPECT_EQ(answer->queryText, "");
    EXPECT_EQ(answer->queryTextSource, QueryTextSource::none);
    EXPECT_EQ(answer->rescored, 0);
    const auto bm25 = bm25_searcher(index)->search(query, 10);
    ASSERT_GT(bm25->scoreDocs.size(), 0);
    EXPECT_EQ(documents_of(answer), documents_of(bm25));
    EXPECT_EQ(scores_of(answer), scores_of(bm25));
    EXPECT_EQ(answer->totalHits, bm25->totalHits);
    EXPECT_EQ(rescored_hit(answer, 0)->status, HitStatus::not_rescored);
    const auto explained = to_utf8(searcher->explain(query, answer->scoreDocs[0]->doc)->toString());
    EXPECT_NE(explained.find("not rescored: the query has no text"), std::string::npos) << explained;
  }
  EXPECT_TRUE(scorer->sizes.empty());
  EXPECT_EQ(log.text(), "");
}

TEST_F(QueriesWithoutText, WithAScopeAreRescoredByItsText) {
  const auto searcher = rescoring_searcher(index, config, scorer);
  const QueryTextScope scope("all there is");
  const auto answer = rescored(searcher->search(newLucene<Lucene::MatchAllDocsQuery>(), 10));
  EXPECT_EQ(answer->status, RescoreStatus::rescored);
  EXPECT_EQ(answer->queryText, "all there is");
}

TEST_F(QueriesWithoutText, TypedAsSyntaxHaveNoneEither) {
  const auto parser = newLucene<RescoringQueryParser>(Lucene::LuceneVersion::LUCENE_30, L"contents",
                                                      newLucene<Lucene::WhitespaceAnalyzer>());
  const auto text_of = [&](const wchar_t* typed) {
    return boost::dynamic_pointer_cast<RescoreQuery>(parser->parse(typed))->text();
  };
  for (const wchar_t* typed : {L"ban*", L"b?n", L"*:*", L"[a TO b]", L"ban* OR wo*", L"+ban* -cherry", L"id:d*"}) {
    EXPECT_EQ(text_of(typed), "") << to_utf8(typed);
  }
  EXPECT_EQ(text_of(L"ban* cherry"), "ban* cherry");
  EXPECT_EQ(text_of(L"banana~"), "banana~");
  EXPECT_EQ(text_of(L"\"two words\""), "\"two words\"");
}

TEST_F(QueriesWithoutText, AndHitsWithoutTextSayWhichOfBothItWas) {
  const SmallIndex nothing_stored(ten_documents({std::nullopt, "  "}));
  const auto searcher = rescoring_searcher(nothing_stored, config, scorer);
  for (int i = 0; i < 3; ++i) {
    const auto answer = rescored(searcher->search(term_query("word"), 10));
    EXPECT_EQ(answer->status, RescoreStatus::no_hit_text);
    EXPECT_FALSE(answer->degraded);
    EXPECT_EQ(answer->without_text, 10);
    EXPECT_NE(answer->reason.find("none of the 10 hits"), std::string::npos) << answer->reason;
  }
  EXPECT_EQ(log.count("stored text"), 1U) << log.text();
  EXPECT_EQ(rescored(searcher->search(term_query("nowhere"), 10))->status, RescoreStatus::no_hits);
  const auto good = rescoring_searcher(index, config, scorer);
  EXPECT_EQ(rescored(good->search(term_query("word"), 10))->status, RescoreStatus::rescored);
}

TEST(RescoreStatusNames, AreTheOnesOfTheDocumentation) {
  EXPECT_STREQ(to_string(RescoreStatus::rescored), "rescored");
  EXPECT_STREQ(to_string(RescoreStatus::no_hits), "no_hits");
  EXPECT_STREQ(to_string(RescoreStatus::no_query_text), "no_query_text");
  EXPECT_STREQ(to_string(RescoreStatus::no_hit_text), "no_hit_text");
  EXPECT_STREQ(to_string(RescoreStatus::failed), "failed");
}

}  // namespace
}  // namespace relucent
