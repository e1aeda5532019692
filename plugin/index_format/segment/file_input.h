#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/file/unique_fd.h"
#include "plugin/index_format/segment/file_output.h"

namespace relucent::segment {

/// Reads a file written by FileOutput once, from start to end. Throws Error `io`, and `invalid_data` if the file ends
/// too early or differs from what was written.
class FileInput {
 public:
  /// finish() compares the file with `expected`, its state as written.
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
    damaged("a variable-length number does not end");
  }
  std::int32_t int32() { return static_cast<std::int32_t>(big_endian(4)); }
  std::int64_t int64() { return static_cast<std::int64_t>(big_endian(8)); }
  void bytes(char* to, std::int64_t count);
  void skip(std::int64_t count);
  void copy(FileOutput& to, std::int64_t count);
  /// Copies `count` numbers without decoding them.
  void copy_numbers(FileOutput& to, std::uint64_t count) {
    for (; count > 0; --count) {
      for (;;) {
        const std::uint8_t byte_read = byte();
        to.byte(byte_read);
        if (byte_read < 0x80) break;
      }
    }
  }
  void skip_numbers(std::uint64_t count) {
    for (; count > 0; --count) {
      while (byte() >= 0x80) {
      }
    }
  }
  std::int64_t position() const { return read_ - static_cast<std::int64_t>(filled_ - next_); }
  std::int64_t left() const { return expected_.size - position(); }

  /// Reads the rest and compares the whole file with its recorded checksum.
  void finish();
  [[noreturn]] void damaged(const std::string& problem) const;

 private:
  void fill();
  /// Calls use(piece) for the next bytes, as many at a time as the buffer has.
  template <typename Use>
  void each_piece(std::int64_t count, const Use& use);
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
