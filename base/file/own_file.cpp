#include "base/file/own_file.h"

#include <dlfcn.h>

#include <system_error>

namespace relucent {

std::filesystem::path own_file() {
  namespace fs = std::filesystem;
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = info.dli_fname;
    // For a program this is only the name it was called by.
    if (file.is_absolute() && fs::exists(file, error)) return fs::canonical(file, error);
  }
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace relucent
