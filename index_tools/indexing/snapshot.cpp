#include "index_tools/indexing/snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "base/file/new_folder.h"
#include "base/file/unique_fd.h"
#include "index_tools/indexing/manifest.h"
#include "index_tools/indexing/origin.h"
#include "relucent/error.h"
#include "relucent/index_files.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

/// A writer commits, at most, every few milliseconds, and each commit keeps the one before.
constexpr int kAttempts = 100;

/// A file of the commit that is there no longer.
struct Vanished {
  fs::path file;
};

/// A file that is to be copied; `open` is empty if no descriptor was free.
struct Held {
  fs::path from;
  UniqueFd open;
};

class Snapshot {
 public:
  explicit Snapshot(const SnapshotJob& job) : job_(job), folder_(job.output) {}

  SnapshotSummary run() {
    const Origin origin = origin_of(job_.index);
    for (int attempt = 1;; ++attempt) {
      const IndexFiles files = index_files(job_.index);
      if (take(files, attempt == kAttempts)) break;
      empty_draft();
    }
    if (origin == Origin::own) write_manifest(folder_.draft(), make_manifest(folder_.draft()));
    folder_.publish();
    return std::move(summary_);
  }

 private:
  /// Whether all of the commit could be had; a writer may have replaced it.
  bool take(const IndexFiles& files, bool last) {
    summary_ = {files.commit, files.documents - files.deleted, 0, 0, 0, 0, files.damage};
    try {
      take_files(files);
      // The names could by now belong to other files.
      if (index_files(folder_.draft()).commit == files.commit) return true;
    } catch (const Vanished& vanished) {
      if (last) {
        throw Error(ErrorKind::io, vanished.file.string(), "has vanished: the index is replaced too quickly to copy it",
                    "repeat the command");
      }
      return false;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data || last) throw;
      return false;
    }
    if (last) throw Error(ErrorKind::io, job_.index.string(), "changes too quickly to copy it", "repeat the command");
    return false;
  }

  /// All files are linked or opened, which takes microseconds each, before the first is copied: a writer may delete
  /// their names meanwhile.
  void take_files(const IndexFiles& files) {
    const std::vector<std::string> records = records_of(files);
    std::vector<Held> held;
    for (const std::string& name : files.names) hold(name, held);
    for (const std::string& name : records) {
      try {
        hold(name, held);
      } catch (const Vanished&) {
        // Records may come and go at any time.
      }
    }
    leave_descriptors(held);
    for (Held& file : held) {
      stop_if_interrupted();
      copy(file);
      file.open.reset();
    }
  }

  /// If no descriptor is left, frees some, which copying needs: these files are opened when they are copied.
  static void leave_descriptors(std::vector<Held>& held) {
    constexpr std::size_t needed = 16;
    if (std::ranges::all_of(held, [](const Held& file) { return static_cast<bool>(file.open); })) return;
    std::size_t freed = 0;
    for (auto file = held.rbegin(); file != held.rend() && freed < needed; ++file) {
      if (file->open) ++freed;
      file->open.reset();
    }
  }

  /// Embeddings and graphs of the commit's segments, and what is known of another program's files.
  std::vector<std::string> records_of(const IndexFiles& files) const {
    std::set<std::string> segments;
    for (const std::string& name : files.names) segments.insert(name.substr(0, name.find('.')));
    std::vector<std::string> records;
    for (const auto& [name, is_folder] : entries_of(job_.index)) {
      const fs::path file = name;
      constexpr std::string_view prefix = "relucent-";
      if (name == "relucent.checked" || (name.starts_with(prefix) && file.extension() == ".lengths")) {
        records.push_back(name);
      } else if (name.starts_with(prefix) && file.extension() != ".part" &&
                 segments.contains(file.stem().string().substr(prefix.size()))) {
        records.push_back(name);
      }
    }
    return records;
  }

  /// Links the file into the draft or opens it for copying.
  void hold(const std::string& name, std::vector<Held>& held) {
    stop_if_interrupted();
    const fs::path from = job_.index / name, to = folder_.draft() / name;
    if (!job_.copy && ::link(from.c_str(), to.c_str()) == 0) {
      ++summary_.files;
      ++summary_.linked;
      summary_.bytes += static_cast<std::int64_t>(fs::file_size(to));
      return;
    }
    if (!job_.copy && errno == ENOENT) throw Vanished{from};
    // Another file system, one without links, or a file of another user.
    UniqueFd open;
    try {
      open = open_file(from);
    } catch (const Error&) {
      // Perhaps no descriptor is free: copy() tries again.
    }
    held.push_back({from, std::move(open)});
  }

  void copy(Held& file) {
    if (!file.open) file.open = open_file(file.from);
    folder_.copy(file.open.get(), file.from);
    const fs::path to = folder_.draft() / file.from.filename();
    struct stat status {};
    if (::fstat(file.open.get(), &status) != 0) throw_io_error(file.from, "reading", errno);
    // Checked files are recognized by their times; where none can be set, they are checked again.
    const timespec times[] = {status.st_atim, status.st_mtim};
    ::utimensat(AT_FDCWD, to.c_str(), times, 0);
    const auto bytes = static_cast<std::int64_t>(fs::file_size(to));
    ++summary_.files;
    summary_.bytes += bytes;
    summary_.copied_bytes += bytes;
  }

  static UniqueFd open_file(const fs::path& from) {
    try {
      return open_regular_file(from);
    } catch (const Error&) {
      std::error_code failure;
      if (fs::exists(from, failure) || failure) throw;
      throw Vanished{from};
    }
  }

  void stop_if_interrupted() const {
    if (!job_.interrupted || !job_.interrupted()) return;
    throw Error(ErrorKind::interrupted, job_.output.string(), "interrupted; nothing was written",
                "run the same command again");
  }

  void empty_draft() const {
    for (const FolderEntry& entry : entries_of(folder_.draft())) fs::remove(folder_.draft() / entry.name);
  }

  const SnapshotJob& job_;
  NewFolder folder_;
  SnapshotSummary summary_;
};

}  // namespace

SnapshotSummary snapshot_index(const SnapshotJob& job) {
  if (!is_directory(status_of(job.index))) {
    throw Error(ErrorKind::io, job.index.string(), "is not a directory", "pass the index directory");
  }
  return Snapshot(job).run();
}

}  // namespace relucent::index_tools
