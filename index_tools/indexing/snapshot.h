#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace relucent::index_tools {

struct SnapshotJob {
  std::filesystem::path index;
  std::filesystem::path output;       ///< must not exist
  bool copy = false;                  ///< never link
  std::function<bool()> interrupted;  ///< called for every file; empty: never interrupted
};

struct SnapshotSummary {
  std::string commit;          ///< segments_N
  std::int64_t documents = 0;  ///< not deleted
  std::int64_t files = 0, linked = 0;
  std::int64_t bytes = 0, copied_bytes = 0;
  std::string damage;  ///< why a newer commit was skipped; empty if none was
};

/// Copies the newest intact commit of an index and what belongs to it, while others may search and write the index. The
/// output appears under its name when all of it is on disk. Throws Error: `usage` if the output exists, `io`, and
/// `invalid_data` if there is no intact index.
SnapshotSummary snapshot_index(const SnapshotJob& job);

}  // namespace relucent::index_tools
