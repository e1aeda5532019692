#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "relucent/export.h"

namespace relucent {

/// What is recorded of an index's files when they are written. No Lucene++ type in it.
struct IndexFiles {
  struct File {
    std::string name;
    std::int64_t size = 0;
    std::uint64_t checksum = 0;  ///< CRC-64 (ECMA-182, reflected, as in xz)
  };
  std::string commit;            ///< segments_N, the newest commit whose files are there with their sizes
  std::int64_t documents = 0;    ///< of that commit, deleted ones included
  std::vector<File> recorded;    ///< of segments that IndexBuilder wrote
  bool only_of_builder = false;  ///< whether the commit's segments are those that IndexBuilder committed
  std::map<std::string, std::string> user_data;  ///< of the commit, without IndexBuilder's own keys
  std::string damage;                            ///< what is wrong with a newer commit; empty where there is none
};

/// Throws Error `io` for a missing folder, `invalid_data` where the folder holds no index, or no commit is whole.
RELUCENT_API IndexFiles index_files(const std::filesystem::path& folder);

/// Reads every file that another program wrote from start to end. Says what is wrong: what Lucene++ could not read, and
/// files that have changed within a commit since open_reader() first saw them. Empty for an index of IndexBuilder's,
/// whose files have recorded checksums instead. Throws Error as index_files() does.
RELUCENT_API std::vector<std::string> find_damage(const std::filesystem::path& folder);

/// A file of document lengths that was kept beside another program's index.
struct LengthsFile {
  enum class State {
    right,
    wrong,  ///< damaged, or not what the postings say
    stale,  ///< of another state of the index, or by another version: it is not used, and counted again where needed
  };
  std::string name;
  State state;
};

/// Counts the lengths of every field that has such a file again and compares. Throws Error as index_files() does.
RELUCENT_API std::vector<LengthsFile> check_lengths(const std::filesystem::path& folder);

}  // namespace relucent
