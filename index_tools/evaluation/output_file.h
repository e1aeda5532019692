#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace relucent::index_tools {

/// A file that appears whole or not at all: written under a temporary name in the same folder, then renamed. A file
/// whose name ends in ".gz" is compressed. Existing files that are not regular (pipes) and open descriptors ("-" and
/// /dev/stdout for standard output, /dev/fd/N) are written to directly. One thread at a time.
class OutputFile {
 public:
  /// Throws Error `io` if the folder is not writable.
  explicit OutputFile(const std::filesystem::path& file);
  /// Removes the temporary file unless commit() was called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws Error `io`, for example if the disk is full.
  void write(std::string_view bytes);
  /// Moves the file into place. Throws Error `io`.
  void commit();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent::index_tools
