#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/random_file.h"

namespace relucent::check {

/// Reads an index file, or a part of one, in Lucene's primitive types with every bound checked. Throws Error
/// `invalid_data` naming the file and the byte for impossible values.
class FileWindow {
 public:
  FileWindow(std::shared_ptr<const RandomFile> file, std::int64_t start, std::int64_t length, std::string name);

  std::int64_t length() const { return length_; }
  std::int64_t position() const { return buffer_start_ + static_cast<std::int64_t>(next_); }
  std::int64_t left() const { return length_ - position(); }
  const std::string& name() const { return name_; }

  std::uint8_t byte() {
    if (next_ == buffer_.size()) fill();
    return buffer_[next_++];
  }
  /// "VInt": at most five bytes, of which Lucene++ keeps 32 bits.
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint32_t>(next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
    damaged("a variable-length number does not end");
  }
  /// A VInt that must be at most `most`; `what` names it in the error.
  std::int64_t count(std::int64_t most, const char* what);
  /// "VLong", not negative.
  std::int64_t long_number();
  std::int32_t int32() { return static_cast<std::int32_t>(big_endian(4)); }
  std::int64_t int64() { return static_cast<std::int64_t>(big_endian(8)); }
  /// Appends the next `count` bytes to `to`.
  void append(std::string& to, std::int64_t count);
  std::string string();
  void skip(std::int64_t count) { seek(position() + count); }
  /// To any position up to the end of the file.
  void seek(std::int64_t position);

  [[noreturn]] void damaged(std::string_view problem) const;

 private:
  void fill();
  std::uint64_t big_endian(int size);

  std::shared_ptr<const RandomFile> file_;
  std::int64_t start_, length_;
  std::string name_;
  std::vector<std::uint8_t> buffer_;
  std::int64_t buffer_start_ = 0;
  std::size_t next_ = 0;
};

/// Whether the bytes are UTF-8. Allows lone surrogates, which older Lucene versions wrote.
bool is_utf8(std::string_view text);

}  // namespace relucent::check
