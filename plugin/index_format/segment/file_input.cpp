#include "plugin/index_format/segment/file_input.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent::segment {
FileInput::FileInput(std::filesystem::path path, const FileSum& expected)
    : path_(std::move(path)), expected_(expected), file_(open_regular_file(path_)), buffer_(kBufferBytes) {}

void FileInput::damaged(const std::string& problem) const {
  throw Error(ErrorKind::invalid_data, path_.string(), problem,
              "rebuild the index: the disk or another program damaged the file");
}

void FileInput::fill() {
  filled_ = read_some(file_.get(), buffer_.data(), buffer_.size(), path_);
  if (filled_ == 0) damaged("the file ends too early");
  next_ = 0;
  read_ += static_cast<std::int64_t>(filled_);
  sum_.add({buffer_.data(), filled_});
}

std::uint64_t FileInput::big_endian(int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | byte();
  return value;
}

void FileInput::bytes(char* to, std::int64_t count) {
  while (count > 0) {
    if (next_ == filled_) fill();
    const std::size_t piece = std::min(filled_ - next_, static_cast<std::size_t>(count));
    std::memcpy(to, buffer_.data() + next_, piece);
    next_ += piece;
    to += piece;
    count -= static_cast<std::int64_t>(piece);
  }
}

void FileInput::skip(std::int64_t count) {
  while (count > 0) {
    if (next_ == filled_) fill();
    const std::size_t piece = std::min(filled_ - next_, static_cast<std::size_t>(count));
    next_ += piece;
    count -= static_cast<std::int64_t>(piece);
  }
}

void FileInput::copy(FileOutput& to, std::int64_t count) {
  while (count > 0) {
    if (next_ == filled_) fill();
    const std::size_t piece = std::min(filled_ - next_, static_cast<std::size_t>(count));
    to.bytes({buffer_.data() + next_, piece});
    next_ += piece;
    count -= static_cast<std::int64_t>(piece);
  }
}

void FileInput::finish() {
  skip(left());
  if (read_ != expected_.size || sum_.value() != expected_.checksum) damaged("does not match its recorded checksum");
}

}  // namespace relucent::segment
