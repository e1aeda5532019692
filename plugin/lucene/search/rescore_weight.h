#pragma once

#include <Query.h>
#include <Weight.h>

#include <optional>

#include "relucent/stop.h"

namespace relucent {

/// A BM25 weight together with the caller's original query and what ends its second stage. The weight itself has lost
/// the text and the order of words through rewriting and analysis.
class RescoreWeight : public Lucene::Weight {
 public:
  /// @param stop  none: the thread's StopScope
  RescoreWeight(const Lucene::WeightPtr& inner, const Lucene::QueryPtr& original, std::optional<StopSignal> stop = {});
  ~RescoreWeight() override;

  const Lucene::WeightPtr& inner() const noexcept { return inner_; }
  const Lucene::QueryPtr& original() const noexcept { return original_; }
  const std::optional<StopSignal>& stop() const noexcept { return stop_; }

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
  std::optional<StopSignal> stop_;
};

}  // namespace relucent
