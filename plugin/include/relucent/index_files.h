#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// The recorded state of an index's files. Uses no Lucene++ types.
struct IndexFiles {
  /// One file of the index.
  struct File {
    std::string name;
    std::int64_t size = 0;
    std::uint64_t checksum = 0;  ///< CRC-64 (ECMA-182, reflected, as in xz)
  };
  std::string commit;          ///< segments_N, the newest commit whose files all exist with their recorded sizes
  std::int64_t documents = 0;  ///< of that commit, including deleted ones
  std::int64_t deleted = 0;
  std::vector<std::string> names;  ///< of all its files
  std::vector<File> recorded;      ///< files that IndexBuilder wrote
  bool only_of_builder = false;    ///< whether IndexBuilder committed exactly this commit's segments
  /// What IndexBuilder records about every document; nothing in another program's index.
  std::optional<AnalyzerKind> analyzer;
  IndexConfig fields;                            ///< the three field names
  bool token_ids = false;                        ///< whether token ids are stored
  std::map<std::string, std::string> user_data;  ///< of the commit, without IndexBuilder's own keys
  std::string damage;                            ///< why a newer commit was skipped; empty if none was
};

/// Throws Error `io` for a missing folder, `invalid_data` if the folder holds no index or no intact commit.
RELUCENT_API IndexFiles index_files(const std::filesystem::path& folder);

/// Reads every segment from start to end, whatever its checksums. Returns what is wrong: data that Lucene++ could not
/// read, and files of another program that changed within a commit since open_reader() first saw them. Throws the same
/// Errors as index_files().
RELUCENT_API std::vector<std::string> find_damage(const std::filesystem::path& folder);

/// A sidecar file with the document lengths of another program's index.
struct LengthsFile {
  enum class State {
    right,
    wrong,  ///< damaged, or contradicts the postings
    stale,  ///< of another state of the index or another version: ignored, and recounted when needed
  };
  std::string name;
  State state;
};

/// Recounts the lengths of every field that has such a file and compares. Throws the same Errors as index_files().
RELUCENT_API std::vector<LengthsFile> check_lengths(const std::filesystem::path& folder);

}  // namespace relucent
