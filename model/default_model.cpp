#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

/// The file that contains this code: the shared library, or the program it is linked into.
fs::path own_file() {
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&default_model), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = info.dli_fname;
    // For a program this is only the name it was called by.
    if (file.is_absolute() && fs::exists(file, error)) return fs::canonical(file, error);
  }
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace

fs::path default_model() {
  std::error_code error;
  if (const char* stated = std::getenv("RELUCENT_MODEL"); stated != nullptr && *stated != '\0') {
    if (fs::is_directory(stated, error)) return stated;
    throw Error(ErrorKind::io, stated, "the environment variable RELUCENT_MODEL does not name a directory",
                "set it to a model directory, or unset it to use the bundled model");
  }
  // Beside the library: PREFIX/lib or PREFIX/lib/ARCHITECTURE next to PREFIX/share.
  constexpr int levels = 3;
  const fs::path file = own_file();
  fs::path prefix = file.parent_path();
  for (int level = 0; level < levels && prefix.has_relative_path(); ++level) {
    prefix = prefix.parent_path();
    fs::path model = prefix / "share/relucent/model/relucent-minilm-l6-w4";
    if (fs::is_directory(model, error)) return model;
  }
  throw Error(ErrorKind::io, file.string(),
              "the bundled model was not found at share/relucent/model/relucent-minilm-l6-w4 beside it",
              "set RELUCENT_MODEL to a model directory, or reinstall Relucent");
}

}  // namespace relucent
