#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/experiments/study_report.h"

namespace relucent::benchmarks {

/// The tables of a study's report.
inline constexpr std::size_t kTimeTable = 0, kMemoryTable = 1;

/// A contender's figures at a length.
struct PeerFigures {
  std::string name, length;
  std::optional<double> milliseconds, megabytes;  ///< per candidate
};

/// Reads the contenders of a comparison's table (`| tokens | contender | text to logits, ms | ... |`, or
/// `| contender | median ms | ... |` under "N candidates x T tokens"). Where the table has the device's own time, that
/// is taken, as measure_costs() does on a GPU, and contenders without it have no time. Throws Error `invalid_data` if
/// the file has no such table.
std::vector<PeerFigures> read_peers(const std::filesystem::path& file);
/// Adds them as rows, and a note if they have none of the study's lengths, or only some.
void add_peers(const std::vector<PeerFigures>& peers, index_tools::StudyReport& report);

}  // namespace relucent::benchmarks
