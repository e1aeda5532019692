#include "plugin/lucene/bm25/ranked_contributions.h"

#include <algorithm>
#include <functional>

namespace relucent::bm25 {

void LargestContributions::add(float contribution) {
  if (best_.size() == kContributionRanks.back()) {
    if (contribution <= best_.front()) return;
    std::ranges::pop_heap(best_, std::greater());
    best_.pop_back();
  }
  best_.push_back(contribution);
  std::ranges::push_heap(best_, std::greater());
}

RankedContributions LargestContributions::ranked() {
  std::ranges::sort(best_, std::greater());
  RankedContributions ranked{};
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (best_.size() >= kContributionRanks[i]) ranked[i] = best_[kContributionRanks[i] - 1];
  }
  return ranked;
}

float reached_by(const RankedContributions& ranked, std::size_t hits) {
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (hits <= kContributionRanks[i]) return ranked[i];
  }
  return 0;
}

}  // namespace relucent::bm25
