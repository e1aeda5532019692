#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/input_files.h"

namespace relucent::index_tools {

/// The files of a corpus one after another, with archives opened: each part holds the decompressed bytes of a file or
/// an archive entry, however deeply packed. One thread at a time, but any thread may call bytes_read().
class InputParts : public ByteStream {
 public:
  /// In a container, only nested containers and entries whose names match one of `patterns` are read.
  /// @param by_name  opens only what is named as an archive, for formats that are containers themselves
  InputParts(std::vector<InputFile> files, std::vector<std::string> patterns, bool by_name = false);
  ~InputParts() override;

  /// Moves to the next part; false after the last. Throws Error for an unreadable or damaged file, and for a container
  /// without a matching entry unless it was found in a folder.
  bool next_part();
  /// The part's name for messages: the file, then the entries inside it, separated by ':'.
  const std::string& part_name() const;
  /// The part's path relative to the input, then the paths of the entries inside it, separated by '/'.
  const std::string& part_path() const;
  /// The part's bytes.
  std::size_t read(char* buffer, std::size_t capacity) override;

  /// Bytes of the files on disk read so far, out of total_bytes(), which is 0 if one of them is a stream.
  std::int64_t bytes_read() const noexcept { return bytes_read_.load(std::memory_order_relaxed); }
  std::int64_t total_bytes() const noexcept { return total_bytes_; }

 private:
  struct Level;
  bool open_next_file();

  std::vector<InputFile> files_;
  std::vector<std::string> patterns_;
  bool by_name_ = false;
  std::size_t next_file_ = 0;
  std::int64_t finished_bytes_ = 0;
  std::int64_t total_bytes_ = 0;
  std::atomic<std::int64_t> bytes_read_ = 0;
  std::unique_ptr<FileStream> file_;
  std::vector<std::unique_ptr<Level>> levels_;  // the file's archive first, then containers within containers
};

}  // namespace relucent::index_tools
