#pragma once

#include <BooleanClause.h>

#include <vector>

#include "plugin/lucene/bm25/weights.h"

namespace relucent::bm25 {

/// Any combination of clauses. Like modern Lucene, sums a document's score in double in the query's order, first over
/// the required clauses and then over the optional ones, and rounds each of the two sums to float.
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

/// A flat disjunction of distinct terms: the most common query, and the only one that TermAtATime evaluates.
class DisjunctionWeight : public BooleanWeight {
 public:
  DisjunctionWeight(const Lucene::QueryPtr& query, std::vector<TermWeightPtr> terms);
  const std::vector<TermWeightPtr>& terms() const { return terms_; }

 private:
  std::vector<TermWeightPtr> terms_;
};

}  // namespace relucent::bm25
