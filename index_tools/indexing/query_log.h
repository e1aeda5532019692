#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include "index_tools/indexing/graph_notes.h"
#include "model/graphs/query_log_weights.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

/// Which documents a log's queries find. Throws Error, `interrupted` for `stop`.
///
/// @param place    for errors
/// @param threads  at least 1
QueryLogWeights search_query_log(const GraphNotesJob& job, const Lucene::IndexReaderPtr& reader, const Config& config,
                                 const std::string& place, int threads, bool quiet, const StopSignal& stop);

}  // namespace relucent::index_tools
