#include "base/file/random_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/file/file_io.h"

namespace relucent {

RandomFile::RandomFile(std::filesystem::path path) : path_(std::move(path)), file_(open_regular_file(path_)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw_io_error(path_, "opening", errno);
  size_ = status.st_size;
  modified_ = status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

std::size_t RandomFile::read(std::int64_t at, char* buffer, std::size_t count) const {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t piece = ::pread(file_.get(), buffer + done, count - done, at + static_cast<std::int64_t>(done));
    if (piece < 0 && errno == EINTR) continue;
    if (piece < 0) throw_io_error(path_, "reading", errno);
    if (piece == 0) break;
    done += static_cast<std::size_t>(piece);
  }
  return done;
}

}  // namespace relucent
