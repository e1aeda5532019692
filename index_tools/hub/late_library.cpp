#include "index_tools/hub/late_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include "relucent/error.h"

namespace relucent::index_tools {

LateLibrary::LateLibrary(const char* file, const char* package)
    : file_(file), package_(package), library_(::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (library_ != nullptr) return;
  const char* const problem = ::dlerror();
  throw Error(ErrorKind::unsupported, file_, fmt::format("cannot be loaded: {}", problem == nullptr ? "" : problem),
              "install it: apt install " + package_);
}

LateLibrary::Function LateLibrary::find(const char* name) const {
  void* const address = ::dlsym(library_, name);
  if (address != nullptr) return {address};
  throw Error(ErrorKind::unsupported, file_, fmt::format("has no function {}", name),
              "install another version of " + package_);
}

}  // namespace relucent::index_tools
