#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>

#include "index_tools/experiments/experiment.h"
#include "index_tools/experiments/study_report.h"

namespace relucent::benchmarks {

struct CostStudy {
  std::int32_t threads = 0;     ///< 0: every core
  std::filesystem::path peers;  ///< what a comparison in tests/benchmarks printed, whose contenders become rows
  std::filesystem::path cache;  ///< folder of what was measured; required
  bool fresh = false;           ///< also measure again what is in the cache
  bool quiet = false;           ///< show no progress on standard error
  std::stop_token stop;
};

/// Measures each row of an experiment with costs at each length: `ms`, the time per candidate from text to logits
/// (the GPU's own time if it has a clock), and `MB`, the memory per candidate that scoring needs besides the weights:
/// on a GPU the activations, on a CPU the growth of its peak in the process's first call. A time has two floors: the
/// least number of operations at the measured peak, and on a CPU the layers' weights, read once per query, at the
/// measured bandwidth of its memory; peak and bandwidth are measured with each figure, and the best of all of a device
/// and a precision counts. Each figure is measured in a process of its own, and is in the cache before the next one.
/// A checkpoint whose position table is too short is extended in a temporary folder. Missing files, cells
/// that a device cannot compute and processes that run out of memory leave cells empty, with a note. Throws Error, also
/// if nothing was measured at all, and `interrupted`.
index_tools::StudyReport measure_costs(const index_tools::Experiment& experiment, const CostStudy& study);

}  // namespace relucent::benchmarks
