#include "index_tools/evaluation/significance.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace relucent::index_tools {

PairedTests paired_tests(std::span<const double> a, std::span<const double> b, double bound) {
  PairedTests tests;
  tests.n = a.size();
  if (a.empty()) return tests;
  const auto n = static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    tests.mean_a += a[i] / n;
    tests.mean_b += b[i] / n;
    tests.mean_difference += (a[i] - b[i]) / n;
  }
  if (a.size() < 2) return tests;

  double squares = 0;
  bool varies = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double deviation = (a[i] - b[i]) - tests.mean_difference;
    squares += deviation * deviation;
    varies = varies || a[i] - b[i] != a[0] - b[0];
  }
  // Rounding errors of the mean must not turn equal differences into variance.
  tests.standard_deviation = varies ? std::sqrt(squares / (n - 1)) : 0.0;
  tests.standard_error = *tests.standard_deviation / std::sqrt(n);
  if (!(*tests.standard_error > 0)) return tests;

  const boost::math::students_t distribution(n - 1);
  const auto below = [&](double t) { return boost::math::cdf(distribution, t); };
  const auto above = [&](double t) { return boost::math::cdf(boost::math::complement(distribution, t)); };
  PairedTests::Result result;
  result.t = tests.mean_difference / *tests.standard_error;
  result.p_t = std::min(1.0, 2 * above(std::abs(result.t)));
  result.t_low = (tests.mean_difference + bound) / *tests.standard_error;
  result.p_low = above(result.t_low);
  result.t_high = (tests.mean_difference - bound) / *tests.standard_error;
  result.p_high = below(result.t_high);
  result.p_tost = std::max(result.p_low, result.p_high);
  tests.result = result;
  return tests;
}

const char* to_string(Correction correction) noexcept {
  switch (correction) {
    case Correction::none: return "none";
    case Correction::holm: return "holm";
    case Correction::bonferroni: return "bonferroni";
  }
  return "";
}

std::vector<double> corrected(std::span<const double> p_values, Correction correction) {
  if (correction == Correction::none) return {p_values.begin(), p_values.end()};
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t tests = correction == Correction::holm ? order.size() - i : order.size();
    largest = std::max(largest, static_cast<double>(tests) * p_values[order[i]]);
    adjusted[order[i]] = std::min(1.0, largest);
  }
  return adjusted;
}

}  // namespace relucent::index_tools
