#pragma once

#include <cstdint>
#include <filesystem>

#include "index_tools/indexing/graph_notes.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent::program {

/// Graphs of documents of a file, for programs that compute with them (docs/commands/graphs.md has the format).
struct GraphExport {
  std::filesystem::path index;          ///< whose statistics are used
  Config config;                        ///< [index], [first_stage] and [rescorer] model
  std::filesystem::path input, output;  ///< JSON lines: documents, and what was made of them, in the same order
  index_tools::GraphNotesJob notes;     ///< as for an index's own documents, by id
  int threads = 0;                      ///< 0: one per core
  bool quiet = false;
};

/// Writes the output, whole or not at all, and returns the number of documents. Throws Error.
std::int64_t export_graphs(const GraphExport& job, const StopSignal& stop);

}  // namespace relucent::program
