#include "plugin/index_format/segment/file_input.h"

#include <algorithm>
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

template <typename Use>
void FileInput::each_piece(std::int64_t count, const Use& use) {
  while (count > 0) {
    if (next_ == filled_) fill();
    const std::size_t size = std::min(filled_ - next_, static_cast<std::size_t>(count));
    use(std::string_view(buffer_.data() + next_, size));
    next_ += size;
    count -= static_cast<std::int64_t>(size);
  }
}

void FileInput::bytes(char* to, std::int64_t count) {
  each_piece(count, [&](std::string_view piece) { to = std::copy(piece.begin(), piece.end(), to); });
}

void FileInput::skip(std::int64_t count) {
  each_piece(count, [](std::string_view) {});
}

void FileInput::copy(FileOutput& to, std::int64_t count) {
  each_piece(count, [&](std::string_view piece) { to.bytes(piece); });
}

void FileInput::finish() {
  skip(left());
  if (read_ != expected_.size || sum_.value() != expected_.checksum) damaged("does not match its recorded checksum");
}

}  // namespace relucent::segment
