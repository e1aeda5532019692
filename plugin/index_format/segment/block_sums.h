#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"

namespace relucent::segment {

/// Bytes of a file per checksum. The first read inside a block reads and checks the whole block.
inline constexpr std::int64_t kBlockBytes = 1 << 14;

/// Size and checksums of a file as written.
struct FileSum {
  std::int64_t size = 0;
  std::uint64_t checksum = 0;
  /// One checksum per block of kBlockBytes; the last block may be shorter. Empty if unknown.
  std::vector<std::uint64_t> blocks;

  friend bool operator==(const FileSum& a, const FileSum& b) { return a.size == b.size && a.checksum == b.checksum; }
};

/// By file name, or by extension within one segment.
using FileSums = std::map<std::string, FileSum>;

/// Computes the checksums of a file and its blocks incrementally.
class RunningSum {
 public:
  void add(std::string_view bytes);
  FileSum finish() const;

 private:
  FileSum sum_;
  Checksum whole_, block_;
};

/// Reads the file. Throws Error `io`.
FileSum sum_of_file(const std::filesystem::path& file);

/// Serializes sums with a checksum of their own, and parses them. Parsing throws Error `invalid_data` naming `place`.
std::string to_bytes(const FileSums& sums);
/// The length of to_bytes(), which follows from the names and sizes.
std::size_t length_of_bytes(const FileSums& sums);
FileSums sums_from_bytes(std::string_view bytes, std::string_view place);

/// Writes the checksums of a segment's files and blocks, and removes the block checksums from `files`.
FileSum write_block_sums(const std::filesystem::path& file, FileSums& files);

}  // namespace relucent::segment
