#include "plugin/index_format/segment/file_output.h"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/file/file_io.h"

namespace relucent::segment {
FileOutput::FileOutput(std::filesystem::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      buffer_(kBufferBytes) {
  if (!file_) throw_io_error(path_, "creating", errno);
}

void FileOutput::write(std::string_view bytes, std::int64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file_.get(), bytes.data(), bytes.size(), at);
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_io_error(path_, "writing", errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += count;
  }
}

void FileOutput::write_buffer() {
  const std::string_view bytes(buffer_.data(), used_);
  write(bytes, written_);
  sum_.add(bytes);
  written_ += static_cast<std::int64_t>(used_);
  used_ = 0;
}

void FileOutput::long_bytes(std::string_view bytes) {
  write_buffer();
  if (bytes.size() < buffer_.size()) {
    std::memcpy(buffer_.data(), bytes.data(), bytes.size());
    used_ = bytes.size();
    return;
  }
  write(bytes, written_);
  sum_.add(bytes);
  written_ += static_cast<std::int64_t>(bytes.size());
}

void FileOutput::big_endian(std::uint64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) byte(static_cast<std::uint8_t>(value >> shift));
}

void FileOutput::overwrite_int64(std::int64_t position, std::int64_t value) {
  write_buffer();
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (56 - 8 * i));
  write({bytes, sizeof bytes}, position);
  overwritten_ = true;
}

FileSum FileOutput::finish() {
  write_buffer();
  if (file_.close() != 0) throw_io_error(path_, "closing", errno);
  // The running sum does not include overwritten bytes. Such files are small and still in the page cache.
  return overwritten_ ? sum_of_file(path_) : sum_.finish();
}

}  // namespace relucent::segment
