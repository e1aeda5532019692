#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace relucent::bm25 {

/// The ranks at which a term's contributions are known, which give a search its first threshold.
inline constexpr std::array<std::size_t, 3> kContributionRanks = {10, 100, 1000};
/// A term's contributions at these ranks, as frequency · length factor; 0: it has fewer postings.
using RankedContributions = std::array<float, kContributionRanks.size()>;

/// Collects the largest of all contributions that are added.
class LargestContributions {
 public:
  void add(float contribution);
  RankedContributions ranked();

 private:
  std::vector<float> best_;  ///< a heap with the smallest in front
};

/// At least `hits` documents have such a contribution or a larger one; 0 if that is not known.
float reached_by(const RankedContributions& ranked, std::size_t hits);

}  // namespace relucent::bm25
