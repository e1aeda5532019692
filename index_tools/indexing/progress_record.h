#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "index_tools/corpora/input_files.h"
#include "relucent/config.h"

namespace relucent::index_tools {

/// An input file as it was when indexing began, so that a resumed run notices a changed file.
struct InputFingerprint {
  static constexpr std::int64_t kStream = -1;  ///< `size` of an input that cannot be compared: a pipe, standard input

  std::string path;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head = 0;  ///< checksum of its first 64 KiB
};

/// What to do with a document whose id occurred before.
enum class Duplicates { error, skip_later, keep };
const char* to_string(Duplicates duplicates) noexcept;
/// Throws Error `usage`.
Duplicates duplicates_from(const std::string& name);

/// Key of the progress record in a commit's user data. Part of the index format.
inline constexpr const char* kProgressKey = "indexing.checkpoint";

/// How far an indexing run has got. Each commit carries it in its user data, so index and record are written
/// atomically. The reader's position is the number of documents: a resumed run reads the input again and skips that
/// many.
struct ProgressRecord {
  std::string corpus;
  std::int64_t documents = 0;
  std::int64_t skipped_files = 0;  ///< before the last of the documents: ReadReport::skipped_files()
  bool complete = false;           ///< the input was read to its end
  bool updated = false;            ///< documents were replaced or deleted later; `documents` is as before
  Duplicates duplicates = Duplicates::error;
  std::vector<std::string> names;  ///< patterns given instead of the corpus's own
  std::vector<InputFingerprint> inputs;
  IndexConfig fields;  ///< the field names; the path is unused
  AnalyzerKind analyzer = AnalyzerKind::english;
};

/// Throws Error `io`.
std::vector<InputFingerprint> fingerprints_of(const std::vector<InputFile>& files);

std::map<std::string, std::string> to_user_data(const ProgressRecord& record);
/// `place` names the index in errors. Throws Error `invalid_data` if the user data holds no valid progress record.
ProgressRecord progress_record_from(const std::map<std::string, std::string>& user_data, const std::string& place);

/// Throws Error `usage` if the run to resume indexed another corpus or had other settings, or, unless `any_input`, if
/// the input files have changed.
void check_same_run(const ProgressRecord& before, const ProgressRecord& now, const std::string& place, bool any_input);

}  // namespace relucent::index_tools
