#pragma once

#include <filesystem>

namespace relucent::program {

/// Where the program keeps what it can make again: $XDG_CACHE_HOME/relucent, ~/.cache/relucent, or below the temporary
/// directory. May not exist yet.
std::filesystem::path cache_folder();

}  // namespace relucent::program
