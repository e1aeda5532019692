#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "relucent/config.h"

namespace relucent::index_tools {

/// One thing that was checked.
struct Check {
  enum class Status {
    ok,
    note,      ///< nothing is wrong, but worth knowing
    mismatch,  ///< nothing is damaged, but this is not the whole of the corpus that was asked for
    damaged,
  };
  /// checksums, structure, commits, contents, documents, texts, ids, token ids, statistics, lengths, corpus, progress
  std::string name;
  Status status = Status::ok;
  std::string detail;  ///< one line
};
const char* to_string(Check::Status status) noexcept;

struct VerifyReport {
  std::string corpus;  ///< empty where the index does not say
  std::int64_t documents = 0;
  std::vector<Check> checks;
  bool own = false;      ///< made by `relucent index`, which can rebuild it
  bool sound() const;    ///< nothing is damaged
  bool matches() const;  ///< and no mismatch
};

struct VerifyJob {
  std::filesystem::path index;
  std::string corpus;  ///< the index must be the whole of it; empty: whatever it says it is
  bool quiet = false;
  IndexConfig fields;  ///< for an index that `relucent index` did not make
  FirstStageConfig first_stage;
  /// Stored token ids are made again where its tokenizer made them; empty: the bundled one.
  std::filesystem::path model;
};

/// Checks the files against the checksums recorded when they were written, and the structure of those of other
/// programs; reads every document and posting; compares counts, statistics and lengths with the recorded ones and the
/// corpus's official number. An index whose files are damaged is not read further. Throws Error `io` where there is no
/// index, `usage` for an unknown corpus.
VerifyReport verify_index(const VerifyJob& job);

}  // namespace relucent::index_tools
