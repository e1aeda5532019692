#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file/unique_fd.h"

namespace relucent::index_tools {

#ifndef RELUCENT_READ_BYTES  // small in builds for fuzzing, so that small inputs are read in several pieces
#define RELUCENT_READ_BYTES (256 * 1024)
#endif

/// How many bytes readers request at a time.
inline constexpr std::size_t kReadBytes = RELUCENT_READ_BYTES;

/// A sequence of bytes read once from front to back. One thread at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads 1 to `capacity` bytes and returns how many; 0 at the end. Throws Error naming the file.
  virtual std::size_t read(char* buffer, std::size_t capacity) = 0;
  /// Seeks like lseek(2) and returns the offset from the start; -1 if the stream cannot seek.
  virtual std::int64_t seek(std::int64_t offset, int whence);
  virtual bool seekable() const { return false; }
};

/// A file on disk, a pipe or a terminal; "-" is standard input.
class FileStream : public ByteStream {
 public:
  /// Waits for the other end of a named pipe. Throws Error `io` if the file cannot be opened, or is a directory or a
  /// disk.
  explicit FileStream(const std::filesystem::path& file);

  std::size_t read(char* buffer, std::size_t capacity) override;
  std::int64_t seek(std::int64_t offset, int whence) override;
  bool seekable() const override { return seekable_; }
  /// Bytes read so far, counted from where reading began.
  std::int64_t position() const noexcept { return position_; }

 private:
  std::string name_;
  UniqueFd file_;
  bool seekable_ = false;
  std::int64_t position_ = 0;
};

}  // namespace relucent::index_tools
