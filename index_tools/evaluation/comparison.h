#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/significance.h"

namespace relucent::index_tools {

/// Significance level: below this p-value a difference, or an equivalence, counts as shown.
inline constexpr double kLevel = 0.05;

struct EvaluatedRun {
  std::string file, tag;
  Evaluation evaluation;
};

/// One measure's values for two runs over the queries that both have, in byte order of the ids.
struct PairedValues {
  std::vector<std::string> queries;
  std::vector<double> a, b;
};

PairedValues paired_values(const Evaluation& a, const Evaluation& b, std::size_t measure);

/// Paired tests between two runs.
struct Comparison {
  std::size_t a = 0, b = 0;                       ///< indices of the runs
  std::vector<std::optional<PairedTests>> tests;  ///< one per measure; nothing for counts
};

/// Compares the first run with each of the others. Not corrected for the number of comparisons.
std::vector<Comparison> compare_with_first(const std::vector<EvaluatedRun>& runs, const std::vector<Measure>& measures);

/// The outcomes of the tests at kLevel.
bool differs(const PairedTests& tests) noexcept;
bool equivalent(const PairedTests& tests) noexcept;
/// different | different, but equivalent | equivalent | undecided | undefined
std::string_view verdict(const PairedTests& tests) noexcept;

}  // namespace relucent::index_tools
