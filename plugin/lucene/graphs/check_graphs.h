#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index_format/records/segment_records.h"

namespace relucent {

/// Reads every graph of a file. Throws Error `invalid_data` for the first that is damaged.
void check_graphs_of(const SegmentRecords& records, const StopSignal& stop = {});

/// The state of the graphs next to an index.
struct GraphsCheck {
  std::vector<std::string> whole;     ///< files
  std::vector<std::string> damaged;   ///< "FILE: what is wrong", also of files of another index
  std::vector<std::string> leftover;  ///< files of segments that the index does not have
  std::int64_t segments = 0;          ///< of the index
  std::int64_t bytes = 0;             ///< of the whole files
  std::string origin;                 ///< of their words' weights and of their entities; of the first file
};

/// Reads every graph of the index's segments. Throws Error for an index that cannot be read.
GraphsCheck check_graphs(const std::filesystem::path& index);

}  // namespace relucent
