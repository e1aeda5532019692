#include "index_tools/evaluation/comparison.h"

#include <utility>

namespace relucent::index_tools {

PairedValues paired_values(const Evaluation& a, const Evaluation& b, std::size_t measure) {
  PairedValues pairs;
  for (const auto& [query, values] : a.queries) {
    const auto found = b.queries.find(query);
    if (found == b.queries.end()) continue;
    pairs.queries.push_back(query);
    pairs.a.push_back(values[measure]);
    pairs.b.push_back(found->second[measure]);
  }
  return pairs;
}

std::vector<Comparison> compare_with_first(const std::vector<EvaluatedRun>& runs,
                                           const std::vector<Measure>& measures) {
  std::vector<Comparison> comparisons;
  for (std::size_t other = 1; other < runs.size(); ++other) {
    Comparison comparison{0, other, {}};
    for (std::size_t m = 0; m < measures.size(); ++m) {
      comparison.tests.emplace_back();
      if (measures[m].is_count()) continue;
      const PairedValues pairs = paired_values(runs[0].evaluation, runs[other].evaluation, m);
      comparison.tests.back() = paired_tests(pairs.a, pairs.b);
    }
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

bool differs(const PairedTests& tests) noexcept { return tests.result && tests.result->p_t < kLevel; }

bool equivalent(const PairedTests& tests) noexcept { return tests.result && tests.result->p_tost < kLevel; }

std::string_view verdict(const PairedTests& tests) noexcept {
  if (!tests.result) return "undefined";
  if (differs(tests)) return equivalent(tests) ? "different, but equivalent" : "different";
  return equivalent(tests) ? "equivalent" : "undecided";
}

}  // namespace relucent::index_tools
