#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "index_tools/corpora/corpora.h"
#include "index_tools/corpora/read_report.h"
#include "index_tools/indexing/progress_record.h"
#include "relucent/config.h"
#include "relucent/index_builder.h"

namespace relucent::index_tools {

/// One run of `relucent index`.
struct IndexJob {
  enum class Start { fresh, overwrite, resume };

  std::string corpus;
  std::vector<std::string> inputs;  ///< files, folders, patterns
  std::filesystem::path index;
  Start start = Start::fresh;
  bool force = false;              ///< overwrite also what `relucent index` did not write
  bool any_input = false;          ///< resume although the input has changed
  std::vector<std::string> names;  ///< patterns instead of the corpus's own
  Duplicates duplicates = Duplicates::error;
  bool strict = false;                    ///< the first malformed record is an error, and so is a broken link
  double max_malformed = 0.001;           ///< share of malformed records above which the run fails
  int threads = 0;                        ///< that index what one thread reads; 1: all in turn; 0: one a core
  std::int64_t commit_every = 1'000'000;  ///< documents; a GiB of text calls for a commit too
  bool quiet = false;                     ///< no progress
  IndexConfig fields;
  FirstStageConfig first_stage;
  std::filesystem::path token_ids_of;  ///< IndexBuilder::Options::token_ids_of
  std::function<bool()> interrupted;   ///< asked for every document; empty: never
};

struct IndexSummary {
  std::int64_t documents = 0;     ///< in the index
  std::int64_t resumed_from = 0;  ///< of these, indexed by earlier runs
  std::string recovered;          ///< what was wrong with the newest commit, where the one before was resumed
  IndexBuilder::Totals totals;
  ReadReport report;
  std::int64_t duplicates = 0;  ///< passed over
  std::vector<std::string> duplicate_examples;
  std::int64_t input_files = 0, input_bytes = 0, left_out_files = 0;
  std::vector<std::string> broken_links;  ///< InputFiles::broken_links, passed over
  std::int64_t index_bytes = 0;
  double seconds = 0;
};

/// Indexes a corpus, committing every so often. Whatever ends it, the index is sound at its last commit. Throws Error:
/// `interrupted` after a commit of everything read so far; `io` and `invalid_data` with what is safe and how to go on;
/// `invalid_data` at the end where too many records were malformed.
IndexSummary run_index(const IndexJob& job);

}  // namespace relucent::index_tools
