#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "index_tools/corpora/input_files.h"
#include "relucent/config.h"

namespace relucent::index_tools {

/// An input file as it was when indexing began, so that a resumed run notices another one.
struct InputFingerprint {
  static constexpr std::int64_t kStream = -1;  ///< the size of one that cannot be compared: a pipe, standard input

  std::string path;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t head = 0;  ///< checksum of its first 64 KiB
};

/// What to do with a document whose id was there before.
enum class Duplicates { error, skip_later, keep };
const char* to_string(Duplicates duplicates) noexcept;
/// Throws Error `usage`.
Duplicates duplicates_from(const std::string& name);

/// The user data's key of a checkpoint.
inline constexpr const char* kCheckpointKey = "indexing.checkpoint";

/// How far an indexing run is; travels in each commit's user data, so that index and checkpoint are one atomic write.
/// The reader's position is the number of documents: a resumed run reads the input again and passes over that many.
struct Checkpoint {
  std::string corpus;
  std::int64_t documents = 0;
  bool complete = false;  ///< the input was read to its end
  Duplicates duplicates = Duplicates::error;
  std::vector<std::string> names;  ///< patterns given instead of the corpus's own
  std::vector<InputFingerprint> inputs;
  IndexConfig fields;  ///< the names; no path
  AnalyzerKind analyzer = AnalyzerKind::english;
};

/// Throws Error `io`.
std::vector<InputFingerprint> fingerprints_of(const std::vector<InputFile>& files);

std::map<std::string, std::string> to_user_data(const Checkpoint& checkpoint);
/// `place` names the index in errors. Throws Error `invalid_data` where the data are no checkpoint.
Checkpoint checkpoint_from(const std::map<std::string, std::string>& user_data, const std::string& place);

/// Throws Error `usage` where the run that is to be continued was of another corpus or with other settings, and, unless
/// `any_input`, where the input's files have changed.
void check_same_run(const Checkpoint& before, const Checkpoint& now, const std::string& place, bool any_input);

}  // namespace relucent::index_tools
