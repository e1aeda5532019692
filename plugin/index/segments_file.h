#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent {

/// The folder's segments_N files, the newest first. Throws Error `io` for a folder that is there but cannot be read.
std::vector<std::string> segments_files(const std::filesystem::path& folder);

}  // namespace relucent
