#pragma once

// Indexes and queries for tests of the first stage.

#include <LuceneHeaders.h>
#include <SerialMergeScheduler.h>
#include <TopScoreDocCollector.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "relucent/analysis.h"
#include "relucent/bm25.h"
#include "relucent/english_analyzer.h"
#include "relucent/index_builder.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/term_query.h"

namespace relucent::testing {

struct TestDocument {
  std::string id, text;
};

inline std::vector<TestDocument> some_documents(int count) {
  std::vector<TestDocument> documents;
  for (int i = 0; i < count; ++i) {
    documents.push_back({"d" + std::to_string(i), "common words and number" + std::to_string(i % 7) + " here"});
  }
  return documents;
}

inline std::unique_ptr<IndexBuilder> open_builder(const std::filesystem::path& folder, IndexBuilder::Mode mode) {
  return IndexBuilder::open(folder, mode, {});
}

/// By IndexBuilder; a commit, and so a segment, every `segment` documents.
inline void write_own(const std::filesystem::path& folder, const std::vector<TestDocument>& documents,
                      std::size_t segment, const IndexBuilder::Options& options = {}) {
  const auto builder = IndexBuilder::open(folder, IndexBuilder::Mode::create, options);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    builder->add(documents[i].id, documents[i].text);
    if ((i + 1) % segment == 0) builder->commit({});
  }
  builder->close();
}

inline Lucene::IndexWriterPtr stock_writer(const std::filesystem::path& folder, bool create) {
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.string())),
                                                             Lucene::newLucene<EnglishAnalyzer>(), create,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(Lucene::newLucene<Lucene::SerialMergeScheduler>());
  writer->setRAMBufferSizeMB(256);
  return writer;
}

inline void add_stock(const Lucene::IndexWriterPtr& writer, const TestDocument& document) {
  using Lucene::AbstractField;
  const auto made = Lucene::newLucene<Lucene::Document>();
  made->add(Lucene::newLucene<Lucene::Field>(L"id", to_lucene(document.id), AbstractField::STORE_YES,
                                             AbstractField::INDEX_NOT_ANALYZED));
  made->add(Lucene::newLucene<Lucene::Field>(L"text", to_lucene(document.text), AbstractField::STORE_YES,
                                             AbstractField::INDEX_NO));
  made->add(Lucene::newLucene<Lucene::Field>(L"contents", to_lucene(document.text), AbstractField::STORE_NO,
                                             AbstractField::INDEX_ANALYZED));
  writer->addDocument(made);
}

/// By Lucene++'s own IndexWriter and Similarity, as another program would.
inline void write_stock(const std::filesystem::path& folder, const std::vector<TestDocument>& documents,
                        std::size_t segment) {
  const auto writer = stock_writer(folder, true);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    add_stock(writer, documents[i]);
    if ((i + 1) % segment == 0) writer->commit();
  }
  writer->close();
}

inline boost::shared_ptr<BM25Searcher> open_bm25(const std::filesystem::path& folder, double k1 = 0.9, double b = 0.4,
                                                 std::optional<std::int32_t> count = {}) {
  FirstStageConfig first_stage;
  first_stage.k1 = k1;
  first_stage.b = b;
  first_stage.count = count;
  return Lucene::newLucene<BM25Searcher>(open_reader(folder), first_stage, IndexConfig{});
}

/// A SHOULD clause for each token of the text, repeated ones too.
inline Lucene::BooleanQueryPtr flat_query(const std::string& text) {
  const auto query = Lucene::newLucene<Lucene::BooleanQuery>();
  for (const auto& token : analyze_english(text)) query->add(term_query(token.term), Lucene::BooleanClause::SHOULD);
  return query;
}

struct TestHit {
  std::int32_t document;
  std::uint32_t bits;  ///< of the float score
  bool operator==(const TestHit&) const = default;
};
struct TestHits {
  std::int32_t total = 0;
  std::vector<TestHit> hits;
  bool operator==(const TestHits&) const = default;
};

inline TestHits plain(const Lucene::TopDocsPtr& top) {
  TestHits hits{top->totalHits, {}};
  for (const auto& hit : top->scoreDocs) {
    hits.hits.push_back({hit->doc, std::bit_cast<std::uint32_t>(static_cast<float>(hit->score))});
  }
  return hits;
}

/// search(query, filter, n): term-at-a-time where the query allows.
inline TestHits search(const boost::shared_ptr<BM25Searcher>& searcher, const Lucene::QueryPtr& query, std::int32_t n,
                       const Lucene::FilterPtr& filter = {}) {
  // The members of the base class are hidden by BM25Searcher's own override.
  return plain(boost::static_pointer_cast<Lucene::Searcher>(searcher)->search(query, filter, n));
}

/// The same through Weight, Scorer and a collector.
inline TestHits search_generally(const boost::shared_ptr<BM25Searcher>& searcher, const Lucene::QueryPtr& query,
                                 std::int32_t n, const Lucene::FilterPtr& filter = {}) {
  const auto collector = Lucene::TopScoreDocCollector::create(std::min(n, searcher->maxDoc()), true);
  boost::static_pointer_cast<Lucene::Searcher>(searcher)->search(query, filter, collector);
  return plain(collector->topDocs());
}

}  // namespace relucent::testing
