#pragma once

#include <BooleanClause.h>

#include <vector>

#include "plugin/bm25/weights.h"

namespace relucent::bm25 {

/// Any combination of clauses. A document's score is added up in double, clause by clause in the query's order, then
/// made a float, as modern Lucene does: first the required clauses, then the optional ones.
class BooleanWeight : public ModelWeight {
 public:
  struct Clause {
    Lucene::BooleanClause::Occur occur;
    Lucene::WeightPtr weight;
  };

  BooleanWeight(const Lucene::QueryPtr& query, std::vector<Clause> clauses, std::int32_t minimum_should_match);
  Lucene::ScorerPtr scorer(const Lucene::IndexReaderPtr& leaf, bool in_order, bool top) override;
  Lucene::ExplanationPtr explain(const Lucene::IndexReaderPtr& leaf, std::int32_t document) override;

 private:
  std::vector<Clause> clauses_;
  std::int32_t minimum_should_match_;
};

/// A flat disjunction of different terms, the usual query: what the term-at-a-time path can do.
class DisjunctionWeight : public BooleanWeight {
 public:
  DisjunctionWeight(const Lucene::QueryPtr& query, std::vector<TermWeightPtr> terms);
  const std::vector<TermWeightPtr>& terms() const { return terms_; }

 private:
  std::vector<TermWeightPtr> terms_;
};

}  // namespace relucent::bm25
