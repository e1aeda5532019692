#pragma once

#include <chrono>
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
  bool force = false;              ///< also overwrite an index that `relucent index` did not write
  bool any_input = false;          ///< resume although the input has changed
  std::vector<std::string> names;  ///< patterns that replace the corpus's own
  Duplicates duplicates = Duplicates::error;
  bool strict = false;           ///< the first malformed record is an error, and so are a broken link, long metadata
  double max_malformed = 0.001;  ///< share of malformed records above which the run fails
  int threads = 0;               ///< indexing threads, fed by one reader; 1: one thread does both; 0: one per core
  std::int64_t commit_every = 1'000'000;  ///< documents; a GiB of text also triggers a commit
  bool quiet = false;                     ///< no progress
  IndexConfig fields;
  FirstStageConfig first_stage;
  std::filesystem::path token_ids_of;  ///< IndexBuilder::Options::token_ids_of
  std::function<bool()> interrupted;   ///< called for every document; empty: never interrupted
};

struct IndexSummary {
  std::int64_t documents = 0;     ///< in the index
  std::int64_t resumed_from = 0;  ///< of these, indexed by earlier runs
  std::string recovered;          ///< damage of the newest commit if the previous one was resumed
  IndexBuilder::Totals totals;
  ReadReport report;
  std::int64_t duplicates = 0;  ///< skipped
  std::vector<std::string> duplicate_examples;
  std::int64_t metadata_left_out = 0;  ///< documents whose metadata is longer than IndexBuilder::kMaxMetadataBytes
  std::vector<std::string> metadata_examples;
  std::int64_t input_files = 0, input_bytes = 0, left_out_files = 0;
  std::vector<std::string> broken_links;  ///< InputFiles::broken_links, skipped
  std::int64_t index_bytes = 0;
  std::chrono::nanoseconds time{0};
};

/// Indexes a corpus, with regular commits. However it ends, the index is sound up to its last commit. Throws Error:
/// `interrupted` after committing everything read so far; `io` and `invalid_data`, stating what is safe and how to
/// continue; `invalid_data` at the end if too many records were malformed.
IndexSummary run_index(const IndexJob& job);

}  // namespace relucent::index_tools
