#include "plugin/index_format/check/file_window.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "relucent/error.h"

namespace relucent::check {
namespace {

constexpr std::int64_t kBuffer = 1 << 16;

}  // namespace

FileWindow::FileWindow(std::shared_ptr<const RandomFile> file, std::int64_t start, std::int64_t length,
                       std::string name)
    : file_(std::move(file)), start_(start), length_(length), name_(std::move(name)) {
  buffer_.reserve(static_cast<std::size_t>(std::min(kBuffer, length_)));
}

void FileWindow::damaged(std::string_view problem) const {
  throw Error(ErrorKind::invalid_data, (file_->path().parent_path() / name_).string(),
              fmt::format("byte {}: {}", position(), problem),
              "restore the index from a copy or rebuild it: the disk or another program damaged it");
}

void FileWindow::fill() {
  buffer_start_ = position();
  next_ = 0;
  buffer_.resize(static_cast<std::size_t>(std::min(kBuffer, length_ - buffer_start_)));
  if (!buffer_.empty()) {
    buffer_.resize(file_->read(start_ + buffer_start_, reinterpret_cast<char*>(buffer_.data()), buffer_.size()));
  }
  if (buffer_.empty()) damaged("the file ends too early");
}

std::uint64_t FileWindow::big_endian(int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | byte();
  return value;
}

std::int64_t FileWindow::count(std::int64_t most, const char* what) {
  const std::uint32_t value = number();
  if (static_cast<std::int64_t>(value) > most) damaged(fmt::format("{} ({}) is out of range", what, value));
  return value;
}

std::int64_t FileWindow::long_number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const std::uint8_t next = byte();
    value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
    if (next < 0x80) return static_cast<std::int64_t>(value);
  }
  damaged("a variable-length number does not end");
}

void FileWindow::append(std::string& to, std::int64_t count) {
  if (count < 0 || count > left()) damaged("the file ends too early");
  while (count > 0) {
    if (next_ == buffer_.size()) fill();
    const std::size_t piece = std::min(buffer_.size() - next_, static_cast<std::size_t>(count));
    to.append(reinterpret_cast<const char*>(buffer_.data()) + next_, piece);
    next_ += piece;
    count -= static_cast<std::int64_t>(piece);
  }
}

std::string FileWindow::string() {
  std::string text;
  append(text, count(left(), "a string's length"));
  if (!is_utf8(text)) damaged("a string is not valid UTF-8");
  return text;
}

void FileWindow::seek(std::int64_t position) {
  if (position < 0 || position > length_)
    damaged(fmt::format("refers to byte {}, beyond the end of the file", position));
  if (position >= buffer_start_ && position <= buffer_start_ + static_cast<std::int64_t>(buffer_.size())) {
    next_ = static_cast<std::size_t>(position - buffer_start_);
    return;
  }
  buffer_start_ = position;
  buffer_.clear();
  next_ = 0;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCodePoint decoded = decode_utf8(text, i);
    const bool surrogate = !decoded.well_formed && text[i] == '\xED' && text.size() - i >= 3 &&
                           is_utf8_continuation(text[i + 1]) && is_utf8_continuation(text[i + 2]);
    if (!decoded.well_formed && !surrogate) return false;
    i += surrogate ? 3 : decoded.bytes;
  }
  return true;
}

}  // namespace relucent::check
