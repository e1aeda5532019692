#pragma once

#include <string>
#include <string_view>

#include "index_tools/experiments/experiment.h"
#include "index_tools/experiments/line_cache.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent::benchmarks {

/// What was measured of a model at one length, per candidate.
struct CostPoint {
  static constexpr index_tools::LineCache::Kind kCache{"costs", ".costs", false};

  double milliseconds = 0;
  double megabytes = 0;              ///< 0: unknown
  double operations = 0, bytes = 0;  ///< the least that it takes; no bytes on a GPU
  double peak = 0, bandwidth = 0;    ///< the device's operations and bytes per second, seen with it; 0: unknown
  std::string measured;              ///< when, in UTC: "2026-11-23T22:41:05Z"

  std::string to_line() const;
  /// Throws Error `invalid_data` for any other text.
  static CostPoint from_line(std::string_view line);

  friend bool operator==(const CostPoint&, const CostPoint&) = default;
};

/// Points of one model with one set of settings, by lengths and numbers.
using CostCache = index_tools::ValueCache<CostPoint>;

/// Whether the model reads a candidate in several inputs: the passages of a MIR or a PARADE, or chunks. It has no
/// floors then.
bool reads_parts(const std::filesystem::path& model, const ScorerConfig& config);

/// Measures a cross-encoder, a MIR or a PARADE on generated texts of `length` tokens, query and special tokens included
/// as if each were one input, in this process. `ms` and `MB` are those of measure_costs().
CostPoint measure_cost(const std::filesystem::path& model, const ScorerConfig& config,
                       const index_tools::ExperimentCosts& costs, std::int32_t length, const StopSignal& stop);

}  // namespace relucent::benchmarks
