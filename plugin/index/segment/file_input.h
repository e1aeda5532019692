#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/file/unique_fd.h"
#include "plugin/index/segment/file_output.h"

namespace relucent::segment {

/// A file that FileOutput wrote, read once from its start to its end. Throws Error `io`, and `invalid_data` where the
/// file ends too early or is not what was written.
class FileInput {
 public:
  /// `expected` is the file as it was written; checked by finish().
  FileInput(std::filesystem::path path, const FileSum& expected);

  std::uint8_t byte() {
    if (next_ == filled_) fill();
    return static_cast<std::uint8_t>(buffer_[next_++]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte_read = byte();
      value |= static_cast<std::uint64_t>(byte_read & 0x7F) << shift;
      if (byte_read < 0x80) return value;
    }
    damaged("a number has no end");
  }
  std::int32_t int32() { return static_cast<std::int32_t>(big_endian(4)); }
  std::int64_t int64() { return static_cast<std::int64_t>(big_endian(8)); }
  void bytes(char* to, std::int64_t count);
  void skip(std::int64_t count);
  void copy(FileOutput& to, std::int64_t count);
  /// Copies so many numbers without looking at them.
  void copy_numbers(FileOutput& to, std::uint64_t count) {
    for (; count > 0; --count) {
      for (;;) {
        const std::uint8_t byte_read = byte();
        to.byte(byte_read);
        if (byte_read < 0x80) break;
      }
    }
  }
  std::int64_t position() const { return read_ - static_cast<std::int64_t>(filled_ - next_); }
  std::int64_t left() const { return expected_.size - position(); }

  /// Reads what is left and compares all with what was written.
  void finish();
  [[noreturn]] void damaged(const std::string& problem) const;

 private:
  void fill();
  std::uint64_t big_endian(int size);

  std::filesystem::path path_;
  FileSum expected_;
  UniqueFd file_;
  std::vector<char> buffer_;
  std::size_t next_ = 0, filled_ = 0;
  std::int64_t read_ = 0;
  Checksum sum_;
};

}  // namespace relucent::segment
