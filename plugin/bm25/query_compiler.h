#pragma once

#include <Searcher.h>

#include <functional>
#include <memory>
#include <string>

#include "plugin/bm25/weights.h"

namespace relucent::bm25 {

/// Makes BM25 weights of a query, rewriting it on the way. Terms, Boolean queries, phrases and spans are scored by BM25
/// at any depth, also inside DisjunctionMaxQuery and FilteredQuery; queries of constant score and unknown classes keep
/// their own scoring. Repeated terms become one clause, pure disjunctions inside a disjunction are unfolded. The query
/// itself is left as it is (Lucene++'s BooleanQuery::rewrite multiplies a boost into its clause at every search).
class QueryCompiler {
 public:
  /// @param model the numbers of a field, made when first asked for
  QueryCompiler(const Lucene::SearcherPtr& searcher, const Lucene::IndexReaderPtr& reader,
                std::function<std::shared_ptr<const FieldModel>(const Lucene::String&)> model);

  Lucene::WeightPtr compile(const Lucene::QueryPtr& query, float boost = 1);

 private:
  struct Part;

  /// Rewritten as far as can be; `boost` gets the boosts of what was around it.
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
  std::function<std::shared_ptr<const FieldModel>(const Lucene::String&)> model_;
};

}  // namespace relucent::bm25
