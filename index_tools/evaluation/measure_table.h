#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/measures.h"

namespace relucent::index_tools {

/// The grades of a query's hits and judgments.
struct JudgedRanking {
  std::vector<std::optional<int>> grades;  ///< per hit, best first; nothing: not judged
  std::vector<int> all_grades;             ///< of every judged document, highest first
};

/// A measure as people write it, and how it is computed.
struct KnownMeasure {
  enum class Cutoff { none, optional, required };
  enum class Total { mean, sum, queries };  ///< over queries; queries: their number
  enum Parameter : unsigned { no_parameter = 0, rel = 1, p = 2, max_rel = 4 };

  std::vector<std::string_view> names;  ///< the first stands in lists; compared without regard to case
  Cutoff cutoff;                        ///< names that end in "_cut" require one in any case
  unsigned parameters;
  Total total;
  double (*value)(const Measure& measure, const JudgedRanking& ranking);
  std::string_view meaning;
};

/// All measures. A row is all that a new one needs.
std::span<const KnownMeasure> known_measures();

}  // namespace relucent::index_tools
