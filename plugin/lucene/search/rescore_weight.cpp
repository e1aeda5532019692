#include "plugin/lucene/search/rescore_weight.h"

#include <Explanation.h>
#include <Scorer.h>

#include <utility>

namespace relucent {

RescoreWeight::RescoreWeight(const Lucene::WeightPtr& inner, const Lucene::QueryPtr& original,
                             std::optional<StopSignal> stop)
    : inner_(inner), original_(original), stop_(std::move(stop)) {}
RescoreWeight::~RescoreWeight() = default;

Lucene::ExplanationPtr RescoreWeight::explain(const Lucene::IndexReaderPtr& reader, std::int32_t document) {
  return inner_->explain(reader, document);
}
Lucene::QueryPtr RescoreWeight::getQuery() { return inner_->getQuery(); }
double RescoreWeight::getValue() { return inner_->getValue(); }
void RescoreWeight::normalize(double norm) { inner_->normalize(norm); }
Lucene::ScorerPtr RescoreWeight::scorer(const Lucene::IndexReaderPtr& reader, bool scoreDocsInOrder, bool topScorer) {
  return inner_->scorer(reader, scoreDocsInOrder, topScorer);
}
double RescoreWeight::sumOfSquaredWeights() { return inner_->sumOfSquaredWeights(); }
bool RescoreWeight::scoresDocsOutOfOrder() { return inner_->scoresDocsOutOfOrder(); }

}  // namespace relucent
