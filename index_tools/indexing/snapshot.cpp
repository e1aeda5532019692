#include "index_tools/indexing/snapshot.h"

#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/new_folder.h"
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
      for (const std::string& name : files.names) take_file(name);
      for (const std::string& name : records_of(files)) take_optional(name);
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

  /// Embeddings and graphs of the commit's segments, and what is known of another program's files.
  std::vector<std::string> records_of(const IndexFiles& files) const {
    std::set<std::string> segments;
    for (const std::string& name : files.names) segments.insert(name.substr(0, name.find('.')));
    std::vector<std::string> records;
    for (const auto& entry : fs::directory_iterator(job_.index)) {
      const std::string name = entry.path().filename().string(), extension = entry.path().extension().string();
      constexpr std::string_view prefix = "relucent-";
      if (name == "relucent.checked" || (name.starts_with(prefix) && extension == ".lengths")) {
        records.push_back(name);
      } else if (name.starts_with(prefix) && extension != ".part" &&
                 segments.contains(entry.path().stem().string().substr(prefix.size()))) {
        records.push_back(name);
      }
    }
    return records;
  }

  /// These files may come and go at any time.
  void take_optional(const std::string& name) {
    try {
      take_file(name);
    } catch (const Vanished&) {
    }
  }

  void take_file(const std::string& name) {
    if (job_.interrupted && job_.interrupted()) {
      throw Error(ErrorKind::interrupted, job_.output.string(), "interrupted; nothing was written",
                  "run the same command again");
    }
    const fs::path from = job_.index / name, to = folder_.draft() / name;
    // A link keeps the file whatever happens to its name in the index.
    if (!job_.copy && ::link(from.c_str(), to.c_str()) == 0) {
      ++summary_.linked;
    } else {
      if (!job_.copy && errno == ENOENT) throw Vanished{from};
      copy(from);  // another file system, one without links, or a file of another user
    }
    ++summary_.files;
    summary_.bytes += static_cast<std::int64_t>(fs::file_size(to));
  }

  void copy(const fs::path& from) {
    std::error_code gone;
    const auto modified = fs::last_write_time(from, gone);
    if (gone == std::errc::no_such_file_or_directory) throw Vanished{from};
    try {
      folder_.copy(from);
    } catch (const Error&) {
      if (fs::exists(from, gone) || gone) throw;
      throw Vanished{from};
    }
    const fs::path to = folder_.draft() / from.filename();
    fs::last_write_time(to, modified, gone);  // checked files are recognized by their times
    summary_.copied_bytes += static_cast<std::int64_t>(fs::file_size(to));
  }

  void empty_draft() const {
    for (const auto& entry : fs::directory_iterator(folder_.draft())) fs::remove(entry.path());
  }

  const SnapshotJob& job_;
  NewFolder folder_;
  SnapshotSummary summary_;
};

}  // namespace

SnapshotSummary snapshot_index(const SnapshotJob& job) {
  std::error_code failure;
  if (!fs::is_directory(job.index, failure)) {
    throw Error(ErrorKind::io, job.index.string(), "is not a directory", "pass the index directory");
  }
  return Snapshot(job).run();
}

}  // namespace relucent::index_tools
