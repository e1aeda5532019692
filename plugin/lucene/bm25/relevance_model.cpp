#include "plugin/lucene/bm25/relevance_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace relucent::bm25 {
namespace {

double sum_of(const WeightedTerms& terms) {
  double sum = 0;
  for (const auto& [term, weight] : terms) sum += std::abs(weight);
  return sum;
}

void scale_to_one(WeightedTerms& terms) {
  const double sum = sum_of(terms);
  for (auto& [term, weight] : terms) weight = static_cast<float>(static_cast<double>(weight) / sum);
}

/// Keeps the terms of the largest weights; of equal ones, the first in the order of the terms.
void keep_best(WeightedTerms& terms, std::size_t count) {
  if (terms.size() <= count) return;
  std::vector<std::pair<std::wstring, float>> ordered(terms.begin(), terms.end());
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) { return a.second > b.second; });
  terms = WeightedTerms(ordered.begin(), ordered.begin() + static_cast<std::ptrdiff_t>(count));
}

float weight_in(const WeightedTerms& terms, const std::wstring& term) {
  const auto found = terms.find(term);
  return found == terms.end() ? 0 : found->second;
}

WeightedTerms weighted_sum(const std::vector<FeedbackDocument>& documents) {
  // A document without terms that may be taken counts for nothing.
  constexpr float kLeast = 0.001F;
  WeightedTerms sum;
  for (const FeedbackDocument& document : documents) {
    const auto norm = static_cast<float>(sum_of(document.terms));
    if (norm <= kLeast) continue;
    for (const auto& [term, frequency] : document.terms) sum[term] += frequency / norm * document.score;
  }
  return sum;
}

}  // namespace

WeightedTerms relevance_model(WeightedTerms query, std::vector<FeedbackDocument> documents, std::size_t terms,
                              float original_weight) {
  for (FeedbackDocument& document : documents) keep_best(document.terms, terms);
  WeightedTerms model = weighted_sum(documents);
  keep_best(model, terms);
  scale_to_one(model);
  scale_to_one(query);
  WeightedTerms both;
  const double rest = 1.0 - static_cast<double>(original_weight);
  for (const WeightedTerms* part : {&std::as_const(query), &std::as_const(model)}) {
    for (const auto& [term, unused] : *part) {
      both[term] = static_cast<float>(static_cast<double>(original_weight * weight_in(query, term)) +
                                      rest * static_cast<double>(weight_in(model, term)));
    }
  }
  return both;
}

}  // namespace relucent::bm25
