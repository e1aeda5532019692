#pragma once

#include <Query.h>
#include <Weight.h>

namespace relucent {

/// A BM25 weight together with the caller's original query. The weight itself has lost the text and the order of words
/// through rewriting and analysis.
class RescoreWeight : public Lucene::Weight {
 public:
  RescoreWeight(const Lucene::WeightPtr& inner, const Lucene::QueryPtr& original);
  ~RescoreWeight() override;

  const Lucene::WeightPtr& inner() const noexcept { return inner_; }
  const Lucene::QueryPtr& original() const noexcept { return original_; }

  Lucene::ExplanationPtr explain(const Lucene::IndexReaderPtr& reader, std::int32_t document) override;
  Lucene::QueryPtr getQuery() override;
  double getValue() override;
  void normalize(double norm) override;
  Lucene::ScorerPtr scorer(const Lucene::IndexReaderPtr& reader, bool scoreDocsInOrder, bool topScorer) override;
  double sumOfSquaredWeights() override;
  bool scoresDocsOutOfOrder() override;

 private:
  Lucene::WeightPtr inner_;
  Lucene::QueryPtr original_;
};

}  // namespace relucent
