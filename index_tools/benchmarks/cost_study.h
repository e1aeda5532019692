#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "index_tools/experiments/experiment_file.h"
#include "index_tools/experiments/study_report.h"

namespace relucent::benchmarks {

struct CostStudy {
  std::int32_t threads = 0;     ///< 0: every core
  std::filesystem::path peers;  ///< what a comparison in tests/benchmarks printed, whose contenders become rows
  std::function<void(std::int64_t done, std::int64_t all)> update = [](std::int64_t, std::int64_t) {};
  std::stop_token stop;
};

/// Measures each row of an experiment with costs at each length: `ms`, the time per candidate from text to logits
/// (the GPU's own time if it has a clock), and `MB`, the memory per candidate that scoring needs besides the weights:
/// on a GPU the activations, on a CPU the growth of its peak in the process's first call. The floor of a time is the
/// least number of operations at the measured peak.
/// Each figure is measured in a process of its own.
/// A checkpoint whose position table is too short is extended in a temporary folder.
/// A row whose model is missing, or that its device cannot compute, has no values, and a note. Throws Error.
index_tools::StudyReport measure_costs(const index_tools::Experiment& experiment, const CostStudy& study);

/// Adds the contenders of a comparison's table (`| tokens | contender | text to logits, ms | ... |`, or
/// `| contender | median ms | ... |` under "N candidates x T tokens") as rows. Lengths that the study lacks are left
/// out. Throws Error `invalid_data` if the file has no such table.
void add_peers(const std::filesystem::path& file, index_tools::StudyReport& report);

}  // namespace relucent::benchmarks
