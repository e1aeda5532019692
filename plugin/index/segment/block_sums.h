#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"

namespace relucent::segment {

/// Bytes of a file under one checksum: whoever reads one of them reads and checks all, once.
inline constexpr std::int64_t kBlockBytes = 1 << 14;

/// A file as it was written.
struct FileSum {
  std::int64_t size = 0;
  std::uint64_t checksum = 0;
  /// The checksum of each kBlockBytes in order, the last ones fewer; empty where they are not known.
  std::vector<std::uint64_t> blocks;

  friend bool operator==(const FileSum& a, const FileSum& b) { return a.size == b.size && a.checksum == b.checksum; }
};

/// By file name, or by extension within one segment.
using FileSums = std::map<std::string, FileSum>;

/// The checksums of a file and of its blocks, found as its bytes go by.
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

/// Sums as bytes, with a checksum of their own, and back. The latter throws Error `invalid_data` naming `place`.
std::string to_bytes(const FileSums& sums);
FileSums sums_from_bytes(std::string_view bytes, std::string_view place);

/// Writes the sums of a segment's files and their blocks, and drops those of the blocks from `files`.
FileSum write_block_sums(const std::filesystem::path& file, FileSums& files);

}  // namespace relucent::segment
