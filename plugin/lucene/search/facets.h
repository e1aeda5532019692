#pragma once

#include <Filter.h>
#include <IndexReader.h>
#include <Weight.h>

#include <string>
#include <vector>

#include "relucent/search_session.h"
#include "relucent/stop.h"

namespace relucent {

/// Throws Error `usage` unless the index declares each key as a keyword, and each occurs once.
void check_facets(const Lucene::IndexReaderPtr& reader, const std::vector<std::string>& keys);

/// Counts the keywords of all documents that match the weight's query and pass the filter, which may be null. `weight`
/// is BM25Searcher's. Throws Error: `deadline` or `interrupted` when `stop` is due; and what Lucene++ throws.
std::vector<FacetCounts> count_facets(const Lucene::IndexReaderPtr& reader, const Lucene::WeightPtr& weight,
                                      const Lucene::FilterPtr& filter, const std::vector<std::string>& keys,
                                      const StopSignal& stop);

}  // namespace relucent
