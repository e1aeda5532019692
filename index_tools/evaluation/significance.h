#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace relucent::index_tools {

/// Two one-sided tests call a difference within these bounds equivalent.
inline constexpr double kEquivalenceBound = 0.02;

/// Paired tests of one measure between two runs, over the same queries. With d = a - b, m its mean, s its sample
/// standard deviation and se = s / sqrt(n):
///   t-test: t = m / se, p_t = 2 P(T >= |t|) with n - 1 degrees of freedom;
///   TOST:   t_low = (m + bound) / se, p_low = P(T >= t_low); t_high = (m - bound) / se, p_high = P(T <= t_high);
///           p_tost = the larger of the two.
/// Undefined (no value) for fewer than two queries or without variance.
struct PairedTests {
  std::size_t n = 0;
  double mean_a = 0, mean_b = 0, mean_difference = 0;
  std::optional<double> standard_deviation, standard_error;  ///< for n >= 2
  struct Result {
    double t = 0, p_t = 0, t_low = 0, p_low = 0, t_high = 0, p_high = 0, p_tost = 0;
  };
  std::optional<Result> result;
};

/// The members of a result, with their names in reports.
inline constexpr std::pair<const char*, double PairedTests::Result::*> kTestFigures[] = {
    {"t", &PairedTests::Result::t},           {"p_t", &PairedTests::Result::p_t},
    {"t_low", &PairedTests::Result::t_low},   {"p_low", &PairedTests::Result::p_low},
    {"t_high", &PairedTests::Result::t_high}, {"p_high", &PairedTests::Result::p_high},
    {"p_tost", &PairedTests::Result::p_tost}};

/// `a` and `b` have the same length; `bound` is TOST's.
PairedTests paired_tests(std::span<const double> a, std::span<const double> b, double bound = kEquivalenceBound);

/// How the p-values of a family of n tests are corrected. None exceeds 1, and a corrected one is compared with the
/// level as it is.
enum class Correction {
  none,
  holm,        ///< Holm (1979): in ascending order, p(i) becomes the largest of (n - j) p(j), j <= i counted from 0
  bonferroni,  ///< p becomes n p
};
/// "none", "holm" or "bonferroni".
const char* to_string(Correction correction) noexcept;

/// @return one value per p-value, in the order given
std::vector<double> corrected(std::span<const double> p_values, Correction correction);

}  // namespace relucent::index_tools
