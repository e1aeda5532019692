#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/file/unique_fd.h"
#include "plugin/index_format/segment/block_sums.h"

namespace relucent::segment {

/// Bytes written, or read, at a time.
inline constexpr std::size_t kBufferBytes = 1 << 17;

/// Writes a file sequentially in the primitive types of Lucene's index files: number() is "VInt" and "VLong", seven
/// bits per byte, lowest first; Int and Long have the highest byte first. Throws Error `io` naming the file.
class FileOutput {
 public:
  explicit FileOutput(std::filesystem::path path);

  void byte(std::uint8_t value) {
    if (used_ == buffer_.size()) write_buffer();
    buffer_[used_++] = static_cast<char>(value);
  }
  void number(std::uint64_t value) {
    if (buffer_.size() - used_ < kMaxNumber) write_buffer();
    while (value > 0x7F) {
      buffer_[used_++] = static_cast<char>((value & 0x7F) | 0x80);
      value >>= 7;
    }
    buffer_[used_++] = static_cast<char>(value);
  }
  /// A VInt of a negative int.
  void negative_number(std::int32_t value) { number(static_cast<std::uint32_t>(value)); }
  void int32(std::int32_t value) { big_endian(static_cast<std::uint32_t>(value), 4); }
  void int64(std::int64_t value) { big_endian(static_cast<std::uint64_t>(value), 8); }
  void bytes(std::string_view bytes) {
    if (buffer_.size() - used_ >= bytes.size()) {
      std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
      used_ += bytes.size();
    } else {
      long_bytes(bytes);
    }
  }
  /// Lucene's String: its length in bytes, its UTF-8.
  void string(std::string_view text) {
    number(text.size());
    bytes(text);
  }
  std::int64_t position() const { return written_ + static_cast<std::int64_t>(used_); }

  /// Overwrites an earlier Long.
  void overwrite_int64(std::int64_t position, std::int64_t value);
  /// Writes everything to the system without syncing it to disk, and closes the file.
  FileSum finish();

 private:
  static constexpr std::size_t kMaxNumber = 10;

  void big_endian(std::uint64_t value, int size);
  void long_bytes(std::string_view bytes);
  void write_buffer();
  void write(std::string_view bytes, std::int64_t at);

  std::filesystem::path path_;
  UniqueFd file_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::int64_t written_ = 0;
  RunningSum sum_;
  bool overwritten_ = false;
};

}  // namespace relucent::segment
