#include "plugin/index/segment/file_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent::segment {
FileInput::FileInput(std::filesystem::path path, const FileSum& expected)
    : path_(std::move(path)),
      expected_(expected),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)),
      buffer_(kBufferBytes) {
  if (descriptor_ < 0) throw_io_error(path_, "opening", errno);
}

FileInput::~FileInput() { ::close(descriptor_); }

void FileInput::damaged(const std::string& problem) const {
  throw Error(ErrorKind::invalid_data, path_.string(), problem,
              "rebuild the index: the disk or another program damaged the file");
}

void FileInput::fill() {
  for (;;) {
    const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error(path_, "reading", errno);
    if (count == 0) damaged("the file ends too early");
    filled_ = static_cast<std::size_t>(count);
    break;
  }
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
