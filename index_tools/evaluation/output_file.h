#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace relucent::index_tools {

/// A file that appears whole or not at all: written under a temporary name in the same folder, then renamed. A name
/// that ends in ".gz" is compressed. What is there and is no regular file (a pipe), and an open descriptor ("-" and
/// /dev/stdout for standard output, /dev/fd/N) is written to directly.
/// One thread at a time.
class OutputFile {
 public:
  /// Throws Error `io` where the folder cannot be written to.
  explicit OutputFile(const std::filesystem::path& file);
  /// Without commit(): removes what was written.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws Error `io`, for instance where the disk is full.
  void write(std::string_view bytes);
  /// Puts the file in place. Throws Error `io`.
  void commit();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent::index_tools
