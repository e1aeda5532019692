#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "relucent/config.h"

namespace relucent::index_tools {

/// Result of one check.
struct Check {
  enum class Status {
    ok,
    note,      ///< not a problem, but worth knowing
    mismatch,  ///< nothing is damaged, but the index does not hold the whole requested corpus
    damaged,
  };
  /// checksums, structure, commits, contents, documents, texts, ids, token ids, embeddings, graphs, statistics,
  /// lengths, corpus, progress
  std::string name;
  Status status = Status::ok;
  std::string detail;  ///< one line
};
const char* to_string(Check::Status status) noexcept;

struct VerifyReport {
  std::string corpus;  ///< empty if the index does not state it
  std::int64_t documents = 0;
  std::vector<Check> checks;
  bool own = false;      ///< written by `relucent index`, which can rebuild it
  bool sound() const;    ///< nothing is damaged
  bool matches() const;  ///< sound, and no mismatch
  /// If nothing is damaged but records next to the index: the checks' names, and the commands that repair them.
  std::vector<std::pair<std::string, std::string>> damaged_records() const;
};

struct VerifyJob {
  std::filesystem::path index;
  std::string corpus;  ///< the index must hold all of it; empty: the corpus that the index states
  bool quiet = false;
  IndexConfig fields;  ///< for an index that `relucent index` did not write
  FirstStageConfig first_stage;
  /// Stored token ids are recomputed and compared if this model has their tokenizer; empty: the bundled model.
  std::filesystem::path model;
};

/// Checks the files against the checksums recorded when they were written, and the structure of files from other
/// programs; reads every document and posting; compares counts, statistics and lengths with the recorded ones and with
/// the corpus's official number. Stops at damaged files. Throws Error `io` if there is no index, `usage` for an unknown
/// corpus.
VerifyReport verify_index(const VerifyJob& job);

}  // namespace relucent::index_tools
