#pragma once

#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/input_files.h"
#include "index_tools/indexing/indexer.h"

namespace relucent::index_tools {

/// The files of a run, which it notes in the summary. Throws Error: see find_input_files(); `invalid_data` for a broken
/// link in a strict run.
InputFiles find_input(const IndexJob& job, const Corpus& corpus, IndexSummary& summary);

}  // namespace relucent::index_tools
