#include "plugin/index_format/segments_file.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/folder_entries.h"

namespace relucent {

std::vector<std::string> segments_files(const std::filesystem::path& folder) {
  constexpr std::string_view prefix = "segments_";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& [name, is_folder] : entries_of(folder, error)) {
    if (name.starts_with(prefix) && name.size() > prefix.size() &&
        name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz", prefix.size()) == std::string::npos) {
      names.push_back(name);
    }
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    throw_io_error(folder, "listing the directory", error.value());
  }
  // N is a number in base 36: the longer name is newer.
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  });
  return names;
}

}  // namespace relucent
