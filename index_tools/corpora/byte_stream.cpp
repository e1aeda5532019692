#include "index_tools/corpora/byte_stream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {

std::int64_t ByteStream::seek(std::int64_t, int) { return -1; }

FileStream::FileStream(const std::filesystem::path& file) : name_(input_name(file)) {
  if (const auto named = named_descriptor(file, STDIN_FILENO)) {
    file_ = duplicate_descriptor(*named, name_);
  } else {
    file_.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_) {
      throw Error(ErrorKind::io, name_, fmt::format("cannot be opened: {}", std::strerror(errno)),
                  "check the path and its permissions");
    }
  }
  struct stat status {};
  const bool known = ::fstat(file_.get(), &status) == 0;
  if (!known || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode)) {
    throw Error(ErrorKind::io, name_, "is neither a file nor a pipe", "pass a file, a directory or a pattern");
  }
  // Standard input may start in the middle of a file.
  seekable_ = S_ISREG(status.st_mode) && !named_descriptor(file, STDIN_FILENO);
}

std::size_t FileStream::read(char* buffer, std::size_t capacity) {
  for (;;) {
    const ssize_t count = ::read(file_.get(), buffer, capacity);
    if (count >= 0) {
      position_ += count;
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR) {
      throw Error(ErrorKind::io, fmt::format("{}: byte {}", name_, position_),
                  fmt::format("cannot be read: {}", std::strerror(errno)));
    }
  }
}

std::int64_t FileStream::seek(std::int64_t offset, int whence) {
  if (!seekable_) return -1;
  const off_t moved = ::lseek(file_.get(), offset, whence);
  if (moved >= 0) position_ = moved;
  return moved;
}

}  // namespace relucent::index_tools
