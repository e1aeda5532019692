#pragma once

#include <memory>

#include "relucent/bm25.h"
#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescorer.h"

namespace relucent {

/// A BM25Searcher whose search(query, n) and search(query, filter, n) return rescored hits (RescoredTopDocs); what
/// openSearcher() gives. Always the same `[rescorer] window` best hits are rescored, however many are asked for.
///
/// The text for the model is, in this order: that of a RescoreQuery in the query, that of the thread's QueryTextScope,
/// the query's terms in their order (prohibited clauses left out), stems turned back into words of the hits' texts.
/// A query without any text (match-all, prefix, wildcard and range queries have none) is answered in BM25's order,
/// which is no failure: RescoredTopDocs::status is `no_query_text`.
///
/// Searches with a Sort or a Collector are BM25's, untouched: their order or their use of the scores is not ours to
/// change. Thread-safe for searching; the same query gives the same bits on any thread.
class RELUCENT_API RescoringSearcher : public BM25Searcher {
 public:
  RescoringSearcher(const Lucene::IndexReaderPtr& reader, const Config& config,
                    std::shared_ptr<const Rescorer> rescorer);
  ~RescoringSearcher() override;

  using BM25Searcher::search;
  Lucene::TopDocsPtr search(const Lucene::WeightPtr& weight, const Lucene::FilterPtr& filter, std::int32_t n) override;

  using BM25Searcher::explain;
  Lucene::ExplanationPtr explain(const Lucene::WeightPtr& weight, std::int32_t document) override;

  const Rescorer& rescorer() const noexcept;

 protected:
  Lucene::WeightPtr createWeight(const Lucene::QueryPtr& query) override;

 private:
  std::shared_ptr<const Rescorer> rescorer_;
};

}  // namespace relucent
