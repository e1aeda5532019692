#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexSearcher.h>
#include <TopDocs.h>

#include <cstdint>
#include <memory>
#include <string>

#include "relucent/collection_statistics.h"
#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {
namespace bm25 {
class QueryCompiler;
}

/// What BM25Searcher returns if it did not count all matches: more than totalHits documents match, or as many.
class RELUCENT_API AtLeastTopDocs : public Lucene::TopDocs {
 public:
  using TopDocs::TopDocs;
  ~AtLeastTopDocs() override;
};

/// An IndexSearcher whose scores equal modern Lucene's BM25 to the last bit of the float. Flat disjunctions of terms
/// are evaluated term at a time over the postings, all other queries by a Weight and Scorer; both give the same
/// results. Thread-safe for searching.
///
/// With [first_stage] scoring, scores equal modern Lucene's LMDirichletSimilarity or LMJelinekMercerSimilarity instead.
/// With [first_stage] rm3, a query of plain words is expanded with terms of its best hits when its weight is made.
///
/// BM25 ignores index-time boosts and Similarities, the host's (setSimilarity) as well as the index writer's. The
/// searcher logs a warning once if it finds one. Query boosts count.
class RELUCENT_API BM25Searcher : public Lucene::IndexSearcher {
 public:
  /// Reads the statistics from the commit's user data if IndexBuilder wrote the index, else from the sidecar file, else
  /// with one pass over the postings, after which it tries to write the sidecar file. Throws Error.
  BM25Searcher(const Lucene::IndexReaderPtr& reader, const FirstStageConfig& first_stage, const IndexConfig& fields,
               const LogConfig& log = {});
  ~BM25Searcher() override;

  const FieldStatistics& statistics() const noexcept;
  /// This index's part of the statistics that the query's scores depend on, whatever CollectionStatisticsScope there
  /// is: of its terms, also in phrases and spans, as far as BM25 scores them. Throws Error.
  CollectionStatistics statistics_of(const Lucene::QueryPtr& query);

  /// A query's weight, for search() and explain(), which is scored with these statistics; null: those of the thread's
  /// CollectionStatisticsScope, or the index's own. Throws Error, `usage` if they lack the query's terms.
  Lucene::WeightPtr makeWeight(const Lucene::QueryPtr& query, const CollectionStatistics* collection);

  /// Has no effect on the BM25 scores. The first call logs a warning.
  void setSimilarity(const Lucene::SimilarityPtr& other) override;
  /// A human-readable note on what the scores ignore in this index (index-time boosts); empty if nothing.
  std::string notice() const;

  using Lucene::IndexSearcher::search;
  /// Returns AtLeastTopDocs if [first_stage] count let it skip documents; their totalHits is `count`, or `n` if that is
  /// larger.
  Lucene::TopDocsPtr search(const Lucene::WeightPtr& weight, const Lucene::FilterPtr& filter, std::int32_t n) override;

 protected:
  Lucene::WeightPtr createWeight(const Lucene::QueryPtr& query) override;

 private:
  Lucene::WeightPtr expanded(const Lucene::WeightPtr& weight, bm25::QueryCompiler& compiler);

  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent
