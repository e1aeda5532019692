#pragma once

#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/input_files.h"
#include "index_tools/indexing/indexer.h"
#include "relucent/index_builder.h"

namespace relucent::index_tools {

/// The files of a run, which it notes in the summary. Throws Error: see find_input_files(); `invalid_data` for a broken
/// link in a strict run.
InputFiles find_input(const IndexJob& job, const Corpus& corpus, IndexSummary& summary);

/// How the job's documents are written.
IndexBuilder::Options builder_options(const IndexJob& job);

}  // namespace relucent::index_tools
