#pragma once

#include <filesystem>

namespace relucent::program {

/// The user's cache folder (base/file/cache_folder.h), or one below the temporary directory. May not exist yet.
std::filesystem::path cache_folder();

/// Where experiments keep results and measurements: `chosen`, if it is not empty.
std::filesystem::path experiment_cache(const std::filesystem::path& chosen);

}  // namespace relucent::program
