#include "plugin/index_format/check/structure_notes.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>

#include "base/checksum.h"
#include "base/file/atomic_file.h"
#include "base/file/cache_folder.h"
#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "relucent/error.h"

namespace relucent::check {
namespace {

namespace fs = std::filesystem;

/// Another number wherever the checks of structure become stricter.
constexpr const char* kStructureHeader = "relucent checked structure 1";
/// A line for each file: about 500,000 files.
constexpr std::size_t kMaxNotesBytes = std::size_t{64} << 20;

struct NotesOfProcess {
  std::mutex mutex;
  std::map<fs::path, StructureNotes::Files> indexes;
};

NotesOfProcess& notes_of_process() {
  static NotesOfProcess notes;
  return notes;
}

/// Removes the notes about indexes that were not opened or written for long; most of these are gone.
void remove_old_notes(const fs::path& notes) {
  constexpr std::chrono::days kept{90};
  std::error_code failure;
  for (const FolderEntry& note : entries_of(notes, failure)) {
    std::error_code ignored;
    if (fs::file_time_type::clock::now() - fs::last_write_time(notes / note.name, ignored) > kept && !ignored) {
      fs::remove(notes / note.name, ignored);
    }
  }
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

}  // namespace

StructureNotes::StructureNotes(const fs::path& folder) {
  std::error_code failure;
  folder_ = fs::weakly_canonical(folder, failure);
  if (failure) folder_ = folder;
  {
    NotesOfProcess& notes = notes_of_process();
    const std::lock_guard lock(notes.mutex);
    if (const auto known = notes.indexes.find(folder_); known != notes.indexes.end()) before_ = known->second;
  }
  const fs::path cache = cache_folder();
  if (cache.empty()) return;
  file_ = cache / "structure" / to_hex(checksum(folder_.string()));
  try {
    std::istringstream lines(read_file(file_, kMaxNotesBytes));
    std::string line;
    if (!std::getline(lines, line) || line != kStructureHeader) return;
    while (std::getline(lines, line)) before_.insert(line);
  } catch (const Error&) {  // then everything is checked again
  }
}

StructureNotes::Files StructureNotes::files(const std::vector<std::string>& names) const {
  Files files;
  for (const std::string& name : names) {
    struct stat status {};
    if (::stat((folder_ / name).c_str(), &status) != 0) throw_io_error(folder_ / name, "opening", errno);
    files.insert(fmt::format("{} {} {} {} {} {}", status.st_dev, status.st_ino, status.st_size,
                             nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), name));
  }
  return files;
}

bool StructureNotes::has(const Files& files) const {
  return std::ranges::includes(before_, files) || std::ranges::includes(now_, files);
}

void StructureNotes::keep() {
  if (now_ == before_) return;
  {
    NotesOfProcess& notes = notes_of_process();
    const std::lock_guard lock(notes.mutex);
    notes.indexes[folder_] = now_;
  }
  before_ = now_;
  if (file_.empty()) return;
  std::string bytes = kStructureHeader;
  for (const std::string& file : now_) bytes += '\n' + file;
  std::error_code failure;
  fs::create_directories(file_.parent_path(), failure);
  if (!fs::exists(file_, failure)) remove_old_notes(file_.parent_path());
  try {
    write_file_atomically(file_, bytes + '\n');
  } catch (const Error&) {  // then the next process checks again
  }
}

}  // namespace relucent::check
