#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace relucent::index_tools {

/// Checksums of an index's files, written beside them once an index is finished, so that a byte that changed later is
/// found. A text file: a header line, one line a file (checksum, size, name), and a checksum of all that.
struct Manifest {
  struct Entry {
    std::int64_t size = 0;
    std::uint64_t checksum = 0;
  };
  std::map<std::string, Entry> files;  ///< by name

  static constexpr const char* kFileName = "relucent.manifest";
};

/// Whether a file of an index folder belongs into the manifest: not the lock, the manifest itself or what is made anew
/// when it is missing.
bool in_manifest(const std::string& file_name);

/// Of every file of the folder: what was recorded when it was written, or, for the few small ones of which nothing is
/// recorded and those of other programs, what it holds now. Throws Error `io`.
Manifest make_manifest(const std::filesystem::path& index);
/// Under a temporary name, then renamed; synced to the disk. Throws Error `io`.
void write_manifest(const std::filesystem::path& index, const Manifest& manifest);
/// Nothing where there is none. Throws Error `invalid_data` for one that is damaged.
std::optional<Manifest> read_manifest(const std::filesystem::path& index);
/// So that it never speaks of an older state while an index is being written. Throws Error `io`.
void remove_manifest(const std::filesystem::path& index);

}  // namespace relucent::index_tools
