#pragma once

#include <cstdint>
#include <string>

#include "index_tools/indexing/graph_pass.h"
#include "relucent/stop.h"

namespace relucent::program {

/// Makes graphs of the documents of `input`, for programs that compute with them (docs/commands/graphs.md has the
/// format), with the statistics of the job's index; its `rebuild` does not count. Both files have JSON lines, in the
/// same order; the output appears whole or not at all. Returns the number of documents. Throws Error.
std::int64_t export_graphs(const index_tools::GraphJob& job, const std::string& input, const std::string& output,
                           const StopSignal& stop);

}  // namespace relucent::program
