#include "base/file/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/file/file_io.h"

namespace relucent {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path, Access access) {
  const UniqueFd file = open_regular_file(path);  // the mapping outlives the descriptor
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_io_error(path, "reading", errno);
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (size != 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) throw_io_error(path, "mapping", errno);
    data = static_cast<const std::byte*>(address);
    if (access == Access::random) ::madvise(address, size, MADV_RANDOM);  // only advice: may fail
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace relucent
