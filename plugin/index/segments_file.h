#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent {

/// The folder's segments_N files, the newest first.
std::vector<std::string> segments_files(const std::filesystem::path& folder);

/// Compares a segments_N file's checksum with its bytes, because Lucene++ crashes on some damaged ones.
bool is_sound_segments_file(const std::filesystem::path& file);

}  // namespace relucent
