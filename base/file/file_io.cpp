#include "base/file/file_io.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

std::string_view remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space and try again";
    case EMFILE: return "raise the limit on open files (ulimit -n)";
    case ENFILE: return "the system's table of open files is full; close other programs";
    case ENOMEM: return "free some memory, or raise its limit (ulimit -v)";
    case EACCES:
    case EPERM: return "check the permissions of the file and its directory";
    case EROFS: return "the file system is mounted read-only; choose another place";
    case ENOENT:
    case ENOTDIR: return "check the path";
    case ELOOP: return "check the symbolic links on the path";
    default: return "check the path, the permissions and the disk";
  }
}

void sync(const fs::path& path, int flags) {
  const UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file) throw_io_error(path, "syncing it to disk", errno);
  sync_descriptor(file.get(), path);
}

}  // namespace

std::string_view remedy_in(std::string_view text) {
  for (const int error : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EACCES, EPERM, EROFS, ELOOP}) {
    if (text.ends_with(std::generic_category().message(error))) return remedy_for(error);
  }
  return {};
}

void throw_io_error(const fs::path& path, std::string_view operation, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw Error(ErrorKind::io, path.string(),
              fmt::format("{}: {}", operation, full ? "the disk is full" : std::generic_category().message(error)),
              remedy_for(error));
}

fs::file_status status_of(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::none) throw_io_error(path, "looking for it", failure.value());
  return status;
}

UniqueFd open_regular_file(const fs::path& path) {
  // O_NONBLOCK: opening a named pipe must not block until it has a writer.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw_io_error(path, "opening", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_io_error(path, "opening", errno);
  if (S_ISDIR(status.st_mode)) throw Error(ErrorKind::io, path.string(), "is a directory", "give a file in it");
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::io, path.string(), "is not a regular file", "give a regular file");
  return file;
}

std::size_t read_some(int descriptor, char* buffer, std::size_t capacity, const fs::path& path) {
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, capacity);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw_io_error(path, "reading", errno);
  }
}

std::string read_file(const fs::path& path, std::size_t max_bytes) {
  const UniqueFd file = open_regular_file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_io_error(path, "reading", errno);
  const auto check_size = [&](std::size_t size) {
    if (size <= max_bytes) return;
    throw Error(ErrorKind::invalid_data, path.string(), fmt::format("is larger than {} bytes", max_bytes),
                "check that it is the right file");
  };
  check_size(static_cast<std::size_t>(status.st_size));
  std::string bytes(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t used = 0;
  while (const std::size_t count = read_some(file.get(), bytes.data() + used, bytes.size() - used, path)) {
    used += count;
    check_size(used);
    if (used == bytes.size()) bytes.resize(2 * used);  // the file has grown
  }
  bytes.resize(used);
  return bytes;
}

void write_all(int descriptor, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw_io_error(path, "writing", errno);
    }
  }
}

void sync_descriptor(int descriptor, const fs::path& path) {
  // EINVAL: the file system does not implement it.
  if (::fsync(descriptor) != 0 && errno != EINVAL) throw_io_error(path, "syncing it to disk", errno);
}

void sync_file(const fs::path& path) { sync(path, O_RDONLY); }

void sync_directory(const fs::path& path) {
  if (!path.empty()) return sync(path, O_RDONLY | O_DIRECTORY);
  std::error_code unknown;
  const fs::path here = fs::current_path(unknown);  // an error names it, where "." would name nothing
  sync(unknown ? fs::path(".") : here, O_RDONLY | O_DIRECTORY);
}

}  // namespace relucent
