#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "index_tools/indexing/graph_notes.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

/// What makes graphs for an index and a MIR.
struct GraphJob {
  std::filesystem::path index;
  Config config;  ///< [index], [first_stage] and [rescorer] model
  GraphNotesJob notes;
  bool rebuild = false;  ///< also those made with earlier statistics of the index
  int threads = 0;       ///< 0: one per core
  bool quiet = false;
};

struct GraphSummary {
  std::int64_t documents = 0;           ///< of the index, deleted ones included
  std::int64_t made = 0;                ///< graphs made now
  std::int64_t continued = 0;           ///< graphs that an interrupted run had made
  std::int64_t kept = 0;                ///< documents of segments whose file was kept
  std::int64_t without_text = 0;        ///< of those made: nothing to score
  std::int64_t with_weights = 0;        ///< of those made: the weights were not tf * idf
  std::int64_t bytes = 0;               ///< of all graphs' files
  std::int64_t earlier_statistics = 0;  ///< segments whose kept graphs were made with other statistics
  std::vector<std::string> replaced;    ///< why files were replaced, one line each
  std::vector<std::string> removed;     ///< files of segments that are gone
  std::chrono::nanoseconds time{0};
};

/// Makes what is missing of the index's graphs, a file per segment (plugin/second_stage/graph_settings.h). A run that
/// was killed is continued by the next one with the same job, and the files are the same, byte for byte. Throws Error;
/// `interrupted` when `stop` is requested, after which what was made is safe.
GraphSummary make_graphs(const GraphJob& job, const StopSignal& stop);

}  // namespace relucent::index_tools
