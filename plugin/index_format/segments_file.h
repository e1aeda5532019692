#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent {

/// The folder's segments_N files, newest first. Throws Error `io` if the folder exists but cannot be read.
std::vector<std::string> segments_files(const std::filesystem::path& folder);

}  // namespace relucent
