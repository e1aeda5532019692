#include "index_tools/program/cache_folder.h"

#include "base/file/cache_folder.h"

namespace relucent::program {

std::filesystem::path cache_folder() {
  const std::filesystem::path own = relucent::cache_folder();
  return own.empty() ? std::filesystem::temp_directory_path() / "relucent" : own;
}

std::filesystem::path experiment_cache(const std::filesystem::path& chosen) {
  return chosen.empty() ? cache_folder() / "experiments" : chosen;
}

}  // namespace relucent::program
