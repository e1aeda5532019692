#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace relucent::index_tools {

/// Checksums of an index's files, written next to them when the index is finished, to detect later changes. A text
/// file: a header line, one line per file (checksum, size, name), and a checksum of all of it.
struct Manifest {
  struct Entry {
    std::int64_t size = 0;
    std::uint64_t checksum = 0;
  };
  std::map<std::string, Entry> files;  ///< by name

  static constexpr const char* kFileName = "relucent.manifest";
};

/// Whether a file of an index folder belongs in the manifest. The lock, the manifest itself and files that are
/// recreated when missing do not.
bool in_manifest(const std::string& file_name);

/// Size and checksum of every file of the folder: as recorded when it was written or, for a few small files without a
/// record and for those of other programs, as they are now. Throws Error `io`.
Manifest make_manifest(const std::filesystem::path& index);
/// Writes under a temporary name, syncs to disk and renames. Throws Error `io`.
void write_manifest(const std::filesystem::path& index, const Manifest& manifest);
/// Nothing if there is no manifest. Throws Error `invalid_data` for a damaged one.
std::optional<Manifest> read_manifest(const std::filesystem::path& index);
/// Called before an index is written, so that the manifest never describes an older state. Throws Error `io`.
void remove_manifest(const std::filesystem::path& index);

}  // namespace relucent::index_tools
