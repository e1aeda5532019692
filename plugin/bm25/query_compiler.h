#pragma once

#include <Searcher.h>

#include <functional>
#include <memory>
#include <string>

#include "bm25/weights.h"

namespace relucent::bm25 {

/// Makes BM25 weights of a rewritten query. Terms, Boolean queries, phrases and spans are scored by BM25 at any depth, also
/// inside DisjunctionMaxQuery and FilteredQuery; queries of constant score and unknown classes keep their own scoring.
/// Repeated terms become one clause, pure disjunctions inside a disjunction are unfolded.
class QueryCompiler {
 public:
  /// @param model the numbers of a field, made when first asked for
  QueryCompiler(const Lucene::SearcherPtr& searcher,
                std::function<std::shared_ptr<const FieldModel>(const Lucene::String&)> model);

  Lucene::WeightPtr compile(const Lucene::QueryPtr& query, float boost = 1);

 private:
  Lucene::WeightPtr compile_boolean(const Lucene::BooleanQueryPtr& query, float boost);
  TermWeightPtr term(const Lucene::QueryPtr& query, const Lucene::TermPtr& term, float boost);
  Importance importance(const std::vector<Lucene::TermPtr>& terms, const FieldModel& model, float boost);
  Lucene::WeightPtr frequency(const Lucene::QueryPtr& query, const std::vector<Lucene::TermPtr>& terms, float boost);

  Lucene::SearcherPtr searcher_;
  std::function<std::shared_ptr<const FieldModel>(const Lucene::String&)> model_;
};

}  // namespace relucent::bm25
