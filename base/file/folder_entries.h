#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace relucent {

struct FolderEntry {
  std::string name;
  bool is_folder = false;  ///< also a link to one
};

/// What a folder has, in no order; what was read before an error. Unlike std::filesystem::directory_iterator, whose
/// increment ends the process where there is no memory for a name, it throws std::bad_alloc then.
std::vector<FolderEntry> entries_of(const std::filesystem::path& folder, std::error_code& error);

/// The same, but throws Error `io` that names the folder.
std::vector<FolderEntry> entries_of(const std::filesystem::path& folder);

}  // namespace relucent
