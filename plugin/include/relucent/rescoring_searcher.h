#pragma once

#include <memory>
#include <optional>

#include "relucent/bm25.h"
#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescorer.h"
#include "relucent/stop.h"

namespace relucent {

/// A BM25Searcher whose search(query, n) and search(query, filter, n) return rescored hits (RescoredTopDocs);
/// openSearcher() returns one. It always rescores the `[rescorer] window` best hits, whatever n is.
///
/// The text for the model is the first available of: the text of a RescoreQuery in the query, the text of the thread's
/// QueryTextScope, the query's terms in order (without prohibited clauses), with stems turned back into words of the
/// hits' texts. Match-all, prefix, wildcard and range queries have no text. Their hits stay in BM25 order, which is not
/// a failure: RescoredTopDocs::status is `no_query_text`.
///
/// Searches with a Sort or a Collector return plain BM25 results, because rescoring would change their order or their
/// scores. Thread-safe for searching; the same query gives the same bits on any thread.
class RELUCENT_API RescoringSearcher : public BM25Searcher {
 public:
  /// Throws Error if a scorer reads stored embeddings, the index lacks them, and missing_embeddings is `error`.
  RescoringSearcher(const Lucene::IndexReaderPtr& reader, const Config& config,
                    std::shared_ptr<const Rescorer> rescorer);
  ~RescoringSearcher() override;

  using BM25Searcher::search;
  Lucene::TopDocsPtr search(const Lucene::WeightPtr& weight, const Lucene::FilterPtr& filter, std::int32_t n) override;

  using BM25Searcher::makeWeight;
  /// The same for rescored hits. @param stop  if set, counts instead of the thread's StopScope
  Lucene::WeightPtr makeWeight(const Lucene::QueryPtr& query, const CollectionStatistics* collection,
                               std::optional<StopSignal> stop);

  using BM25Searcher::explain;
  Lucene::ExplanationPtr explain(const Lucene::WeightPtr& weight, std::int32_t document) override;
  /// Explains the score that search(query, n), or search() of the query's weight, which returned `found`, gave this
  /// hit. Scores nothing again.
  Lucene::ExplanationPtr explain(const Lucene::QueryPtr& query, const RescoredTopDocsPtr& found, std::int32_t document);
  Lucene::ExplanationPtr explain(const Lucene::WeightPtr& weight, const RescoredTopDocsPtr& found,
                                 std::int32_t document);

  const Rescorer& rescorer() const noexcept;

 protected:
  Lucene::WeightPtr createWeight(const Lucene::QueryPtr& query) override;

 private:
  std::shared_ptr<const Rescorer> rescorer_;
};

}  // namespace relucent
