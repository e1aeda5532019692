#include "base/file/cache_folder.h"

#include <cstdlib>

namespace relucent {

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "relucent";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::filesystem::path(home) / ".cache" / "relucent"
                                          : std::filesystem::path();
}

}  // namespace relucent
