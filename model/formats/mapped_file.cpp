#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "relucent/error.h"

namespace relucent {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  const char* remedy =
      error == ENOENT ? "check the model folder's path" : "check the file and its permissions";
  throw Error(ErrorKind::io, path.string(), "cannot be read: " + std::generic_category().message(error),
              remedy);
}

/// Closes the descriptor when it goes out of scope; a mapping outlives it.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) fail(path, errno);
  struct stat status {};
  if (::fstat(file.value, &status) != 0) fail(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::io, path.string(), "is not a regular file", "give the file itself");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (size != 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (address == MAP_FAILED) fail(path, errno);
    data = static_cast<const std::byte*>(address);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace relucent
