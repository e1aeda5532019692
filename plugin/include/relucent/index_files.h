#pragma once

#include <cstdint>
#include <filesystem>
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
  std::string damage;            ///< what is wrong with a newer commit; empty where there is none
};

/// Throws Error `io` for a missing folder, `invalid_data` where the folder holds no index, or no commit is whole.
RELUCENT_API IndexFiles index_files(const std::filesystem::path& folder);

}  // namespace relucent
