#include "plugin/lucene/index/write_lock.h"

#include <Lock.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "base/file/file_io.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// Tries to lock the descriptor for writing; false if another descriptor, even of this process, holds the lock.
bool lock_whole(int descriptor, const std::filesystem::path& file) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_OFD_SETLK, &whole) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
    throw Error(ErrorKind::io, file.string(), "the file system does not support locks",
                "put the index on one that does");
  }
  throw_io_error(file, "locking", errno);
}

/// A process, possibly this one, that has the file open through another descriptor; empty if none is visible.
/// Lucene++'s writers (3.0.9) lose their system lock immediately, by closing a second descriptor of the file, but keep
/// the first one open while they write.
std::string process_with_open(const std::filesystem::path& file, int own_descriptor) {
  namespace fs = std::filesystem;
  struct stat wanted = {};
  if (fstat(own_descriptor, &wanted) != 0) return {};
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self", error).string();
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string id = process->path().filename().string();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code hidden;  // another user's
    for (fs::directory_iterator open_file(process->path() / "fd", hidden); !hidden && open_file != end;
         open_file.increment(hidden)) {
      if (id == self && open_file->path().filename() == fmt::format("{}", own_descriptor)) continue;
      std::error_code closed;
      const fs::path target = fs::read_symlink(open_file->path(), closed);
      if (closed || target.filename() != file.filename()) continue;
      struct stat found = {};
      if (stat(open_file->path().c_str(), &found) == 0 && found.st_ino == wanted.st_ino &&
          found.st_dev == wanted.st_dev) {
        return id;
      }
    }
  }
  return {};
}

/// The lock on one file. It only ever writes to a file it has created itself: an existing file, possibly a link to
/// another one, is replaced, never written.
class WriteLock : public Lucene::Lock {
 public:
  explicit WriteLock(std::filesystem::path file) : file_(std::move(file)) {}
  ~WriteLock() override { WriteLock::release(); }

  bool obtain() override {
    if (own_) return false;
    while (!take_left_over() || !create()) {
    }
    write_holder();
    return true;
  }

  void release() override {
    if (!own_) return;
    if (is_under_name(own_.get())) unlink(file_.c_str());
    own_.reset();
    left_over_.reset();
  }

  bool isLocked() override { return static_cast<bool>(own_); }

 private:
  /// Locks an existing lock file, if any, and removes it. It stays locked, because another writer may have opened it
  /// before. Returns false if the caller must try again.
  bool take_left_over() {
    left_over_.reset(open(file_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!left_over_ && errno == ENOENT) return true;
    struct stat status = {};
    if ((!left_over_ && (errno == ELOOP || errno == EISDIR || errno == ENXIO)) ||
        (left_over_ && fstat(left_over_.get(), &status) == 0 && !S_ISREG(status.st_mode))) {
      throw Error(ErrorKind::io, file_.string(), "is not a regular file, so it cannot be the index's lock",
                  "find out who created it, and remove it");
    }
    if (!left_over_) throw_io_error(file_, "opening the index's lock", errno);
    if (!lock_whole(left_over_.get(), file_)) {
      throw Error(ErrorKind::io, file_.string(), "the index is being written by " + read_holder(left_over_.get()),
                  "wait for that writer to finish, or stop it");
    }
    // The previous holder may have removed the file between our open and our lock.
    if (!is_under_name(left_over_.get())) return false;
    std::string holder = process_with_open(file_, left_over_.get());
    // Other processes that check the lock right now, like this one, close it immediately.
    for (int again = 0; !holder.empty() && again < 5; ++again) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      holder = process_with_open(file_, left_over_.get());
    }
    if (!holder.empty()) {
      left_over_.reset();
      throw Error(ErrorKind::io, file_.string(),
                  fmt::format("the index is being written by process {} with Lucene++", holder),
                  "wait for that writer to finish, or close it");
    }
    if (unlink(file_.c_str()) != 0 && errno != ENOENT) throw_io_error(file_, "removing a dead writer's lock", errno);
    return true;
  }

  /// Returns false if another writer was faster.
  bool create() {
    UniqueFd created(open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!created && errno == EEXIST) return false;
    if (!created) throw_io_error(file_, "creating the index's lock", errno);
    if (!lock_whole(created.get(), file_) || !is_under_name(created.get())) return false;
    own_ = std::move(created);
    return true;
  }

  bool is_under_name(int descriptor) const {
    struct stat by_name = {}, by_descriptor = {};
    return lstat(file_.c_str(), &by_name) == 0 && fstat(descriptor, &by_descriptor) == 0 &&
           by_name.st_ino == by_descriptor.st_ino && by_name.st_dev == by_descriptor.st_dev;
  }

  /// The process named in the file; writers that are not ours leave it empty.
  static std::string read_holder(int descriptor) {
    char text[32] = {};
    const ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
    const long process = size > 0 ? std::strtol(text, nullptr, 10) : 0;
    if (process == getpid()) return fmt::format("this process (number {})", process);
    return process > 0 ? fmt::format("process {}", process) : "another process";
  }

  void write_holder() const {
    const std::string text = fmt::format("{}\n", getpid());
    // Only for messages: a full disk must not prevent opening the index.
    if (pwrite(own_.get(), text.data(), text.size(), 0) < 0) return;
  }

  std::filesystem::path file_;
  UniqueFd left_over_, own_;
};

}  // namespace

WriteLockFactory::WriteLockFactory(std::filesystem::path folder) : folder_(std::move(folder)) {}

Lucene::LockPtr WriteLockFactory::makeLock(const Lucene::String& name) {
  return Lucene::newLucene<WriteLock>(folder_ / to_utf8(name));
}

void WriteLockFactory::clearLock(const Lucene::String&) {}

}  // namespace relucent
