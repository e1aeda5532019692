#pragma once

#include <filesystem>
#include <string_view>

#include "base/file/unique_fd.h"

namespace relucent {

/// Creates or replaces a file atomically, even if the process or the machine dies: writes a temporary file in the same
/// directory, syncs it, renames it and syncs the directory. Follows a symbolic link, so that it stays one. One thread
/// at a time; all functions throw Error `io`.
class AtomicFile {
 public:
  /// Creates the temporary file, "PATH.tmpPID".
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Removes the temporary file unless commit() has put it in place.
  ~AtomicFile();

  void write(std::string_view bytes);
  /// Puts the file in place. Nothing may be written afterwards.
  void commit();

  /// For writers that take a descriptor, such as libarchive's.
  int descriptor() const noexcept { return file_.get(); }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_, temporary_;
  UniqueFd file_;
};

/// Writes `bytes` as an AtomicFile.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace relucent
