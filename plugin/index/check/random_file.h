#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/file/unique_fd.h"

namespace relucent {

/// A file read at any place, by any number of threads at once. Throws Error `io` naming the file.
class RandomFile {
 public:
  explicit RandomFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }          ///< when it was opened
  std::int64_t modified() const { return modified_; }  ///< nanoseconds since 1970, when it was opened
  /// Up to `count` bytes from byte `at` on; fewer only at the end of the file.
  std::size_t read(std::int64_t at, char* buffer, std::size_t count) const;

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  std::int64_t size_ = 0, modified_ = 0;
};

}  // namespace relucent
