#pragma once

#include <filesystem>

namespace relucent::program {

/// Where the program keeps what it can make again: $XDG_CACHE_HOME/relucent, ~/.cache/relucent, or below the temporary
/// directory. May not exist yet.
std::filesystem::path cache_folder();

/// Where experiments keep results and measurements: `chosen`, if it is not empty.
std::filesystem::path experiment_cache(const std::filesystem::path& chosen);

}  // namespace relucent::program
