#pragma once

#include <Searcher.h>

#include <functional>
#include <memory>
#include <string>

#include "plugin/lucene/bm25/weights.h"

namespace relucent::bm25 {

/// Rewrites a query and compiles it into BM25 weights. BM25 scores terms, Boolean queries, phrases and spans at any
/// depth, also inside DisjunctionMaxQuery and FilteredQuery; constant-score queries and unknown classes keep their own
/// scoring. Repeated terms become one clause, and disjunctions nested in a disjunction are flattened. The query itself
/// is not modified (Lucene++'s BooleanQuery::rewrite would multiply a boost into its clause at every search).
class QueryCompiler {
 public:
  /// Where scores take their statistics from.
  struct Statistics {
    std::function<std::shared_ptr<const FieldModel>(const Lucene::String&)> model;  ///< of a field
    std::function<std::int64_t(const Lucene::TermPtr&)> document_frequency;
    std::function<std::int64_t(const Lucene::TermPtr&)> total_frequency = {};  ///< of a term; not for BM25
  };
  QueryCompiler(const Lucene::SearcherPtr& searcher, const Lucene::IndexReaderPtr& reader, Statistics statistics);

  Lucene::WeightPtr compile(const Lucene::QueryPtr& query, float boost = 1);

 private:
  struct Part;

  /// Rewrites the query as far as possible and multiplies `boost` by the boosts of the queries it unwraps.
  Lucene::QueryPtr resolve(Lucene::QueryPtr query, float& boost) const;
  void unfold(const Lucene::BooleanQueryPtr& query, float boost, std::vector<Part>& parts) const;
  static std::vector<Part> join_repeated(const std::vector<Part>& parts, bool optional_too);
  Lucene::WeightPtr compile_resolved(const Lucene::QueryPtr& query, float outer_boost);
  Lucene::WeightPtr compile_boolean(const Lucene::BooleanQueryPtr& query, float boost);
  TermWeightPtr term(const Lucene::QueryPtr& query, const Lucene::TermPtr& term, float boost);
  Importance importance(const std::vector<Lucene::TermPtr>& terms, const FieldModel& model, float boost);
  Lucene::WeightPtr frequency(const Lucene::QueryPtr& query, const std::vector<Lucene::TermPtr>& terms, float boost);

  Lucene::SearcherPtr searcher_;
  Lucene::IndexReaderPtr reader_;
  Statistics statistics_;
};

}  // namespace relucent::bm25
