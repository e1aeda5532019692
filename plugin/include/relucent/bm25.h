#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexSearcher.h>

#include <cstdint>
#include <memory>
#include <string>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// Statistics of one indexed field as BM25 uses them. Deleted documents count until a merge drops them.
struct FieldStatistics {
  std::int64_t document_count = 0;       ///< documents with at least one token
  std::int64_t sum_total_term_freq = 0;  ///< tokens in all of them
  /// (float)(sum_total_term_freq / (double)document_count); 1 for an empty field.
  RELUCENT_API float average_length() const noexcept;
};

/// An IndexSearcher whose scores are modern Lucene's BM25, to the last bit of the float. Flat disjunctions of terms
/// take a term-at-a-time path over the postings, everything else a Weight and Scorer of its own; the results are the
/// same. Thread-safe for searching.
///
/// What Lucene++'s own scores have and BM25's have not is named once in the log: index-time boosts, a Similarity of the
/// host's (setSimilarity) or of the index's writer. Boosts of queries count.
class RELUCENT_API BM25Searcher : public Lucene::IndexSearcher {
 public:
  /// Reads the statistics from the commit's user data where our writer made the index, else from the sidecar, else by
  /// one sweep over the postings (and then tries to write the sidecar). Throws Error.
  BM25Searcher(const Lucene::IndexReaderPtr& reader, const FirstStageConfig& first_stage, const IndexConfig& fields,
               const LogConfig& log = {});
  ~BM25Searcher() override;

  const FieldStatistics& statistics() const noexcept;

  /// Changes nothing: the scores stay BM25's. The first call logs a warning.
  void setSimilarity(const Lucene::SimilarityPtr& other) override;
  /// What of the index has no effect on the scores (index-time boosts), for people; empty: nothing.
  std::string notice() const;

  using Lucene::IndexSearcher::search;
  Lucene::TopDocsPtr search(const Lucene::WeightPtr& weight, const Lucene::FilterPtr& filter, std::int32_t n) override;

 protected:
  Lucene::WeightPtr createWeight(const Lucene::QueryPtr& query) override;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent
