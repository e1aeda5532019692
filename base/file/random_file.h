#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/file/unique_fd.h"

namespace relucent {

/// A file with random access, readable by any number of threads concurrently. Throws Error `io` naming the file. Files
/// are not mapped: if another program cuts a mapped file, the next access to it ends the process.
class RandomFile {
 public:
  explicit RandomFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }          ///< at opening
  std::int64_t modified() const { return modified_; }  ///< at opening, in nanoseconds since 1970
  /// Reads up to `count` bytes from byte `at`; returns fewer only at the end of the file.
  std::size_t read(std::int64_t at, char* buffer, std::size_t count) const;

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  std::int64_t size_ = 0, modified_ = 0;
};

}  // namespace relucent
