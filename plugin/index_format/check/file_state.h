#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace relucent {

/// Identifies a file's state without reading all of a large file.
struct FileState {
  std::int64_t size = -1;
  std::int64_t modified = 0;  ///< nanoseconds since 1970
  std::uint64_t sample = 0;   ///< CRC-64 of the whole file up to 1 MiB, else of 32 pieces spread over it

  friend bool operator==(const FileState&, const FileState&) = default;
};

/// Reads at most 1 MiB. Throws Error `io` naming the file.
FileState file_state(const std::filesystem::path& file);
/// Size, time and sample as text, for use in identities.
std::string to_string(const FileState& state);

}  // namespace relucent
