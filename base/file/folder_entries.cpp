#include "base/file/folder_entries.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "base/file/file_io.h"

namespace relucent {

std::vector<FolderEntry> entries_of(const std::filesystem::path& folder, std::error_code& error) {
  struct Close {
    void operator()(DIR* opened) const noexcept { ::closedir(opened); }
  };
  std::vector<FolderEntry> entries;
  const auto fail = [&] { error.assign(errno, std::generic_category()); };
  error.clear();
  const std::unique_ptr<DIR, Close> opened(::opendir(folder.c_str()));
  if (!opened) {
    fail();
    return entries;
  }
  for (;;) {
    errno = 0;
    const dirent* const found = ::readdir(opened.get());
    if (found == nullptr) {
      if (errno != 0) fail();
      return entries;
    }
    FolderEntry entry{found->d_name, found->d_type == DT_DIR};
    if (entry.name == "." || entry.name == "..") continue;
    if (found->d_type == DT_LNK || found->d_type == DT_UNKNOWN) {
      struct stat status = {};
      entry.is_folder = ::stat((folder / entry.name).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    }
    entries.push_back(std::move(entry));
  }
}

std::vector<FolderEntry> entries_of(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<FolderEntry> entries = entries_of(folder, error);
  if (error) throw_io_error(folder, "listing its files", error.value());
  return entries;
}

}  // namespace relucent
