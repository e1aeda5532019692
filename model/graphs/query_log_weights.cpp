#include "model/graphs/query_log_weights.h"

#include <algorithm>

namespace relucent {

void QueryLogWeights::add_query(std::vector<std::string> terms, std::span<const std::int64_t> hits) {
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  for (const std::int64_t document : hits) found_by_[document].push_back(terms_.size());
  terms_.push_back(std::move(terms));
}

std::size_t QueryLogWeights::queries(std::int64_t document) const {
  const auto found = found_by_.find(document);
  return found == found_by_.end() ? 0 : found->second.size();
}

TermWeights QueryLogWeights::weights(std::int64_t document) const {
  TermWeights weights;
  const auto found = found_by_.find(document);
  if (found == found_by_.end()) return weights;
  for (const std::size_t query : found->second) {
    for (const std::string& term : terms_[query]) weights[term] += 1;
  }
  for (auto& [term, weight] : weights) weight /= static_cast<double>(found->second.size());
  return weights;
}

}  // namespace relucent
