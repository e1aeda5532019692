#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent {

/// The folder's segments_N files, the newest first.
std::vector<std::string> segments_files(const std::filesystem::path& folder);

}  // namespace relucent
