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

WeightedTerms best_terms(const WeightedTerms& terms, std::size_t count,
                         const std::function<bool(const std::wstring&)>& may_take) {
  std::vector<WeightedTerms::const_iterator> ordered;
  ordered.reserve(terms.size());
  for (auto term = terms.begin(); term != terms.end(); ++term) ordered.push_back(term);
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) { return a->second > b->second; });
  WeightedTerms best;
  for (const auto& term : ordered) {
    if (best.size() == count) break;
    if (may_take(term->first)) best.insert(*term);
  }
  return best;
}

WeightedTerms relevance_model(WeightedTerms query, const std::vector<FeedbackDocument>& documents, std::size_t terms,
                              float original_weight) {
  WeightedTerms model = best_terms(weighted_sum(documents), terms, [](const std::wstring&) { return true; });
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
