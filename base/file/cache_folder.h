#pragma once

#include <filesystem>

namespace relucent {

/// Where this user's programs keep what they can make again: $XDG_CACHE_HOME/relucent or ~/.cache/relucent. Empty if
/// neither variable is set. The folder may not exist yet.
std::filesystem::path cache_folder();

}  // namespace relucent
