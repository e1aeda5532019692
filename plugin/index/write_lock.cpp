#include "index/write_lock.h"

#include <Lock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

class WriteLock : public Lucene::Lock {
 public:
  explicit WriteLock(std::filesystem::path file) : file_(std::move(file)) {}
  ~WriteLock() override { WriteLock::release(); }

  bool obtain() override {
    if (descriptor_ >= 0) return false;
    for (;;) {
      const int opened = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (opened < 0) {
        throw Error(ErrorKind::io, file_.string(), std::string("the index cannot be written: ") + std::strerror(errno),
                    "check the folder's permissions");
      }
      struct flock whole = {};
      whole.l_type = F_WRLCK;
      whole.l_whence = SEEK_SET;
      if (fcntl(opened, F_OFD_SETLK, &whole) != 0) {
        const int reason = errno;
        const std::string holder = read_holder(opened);
        close(opened);
        if (reason != EAGAIN && reason != EACCES) {
          throw Error(ErrorKind::io, file_.string(),
                      std::string("the index cannot be locked: ") + std::strerror(reason),
                      "Put the index on a file system that has locks");
        }
        throw Error(ErrorKind::io, file_.string(), "the index is being written by " + holder,
                    "wait until that writer ends, or stop it");
      }
      // The holder before may have removed the file between our open and our lock.
      struct stat by_name, by_descriptor;
      if (stat(file_.c_str(), &by_name) == 0 && fstat(opened, &by_descriptor) == 0 &&
          by_name.st_ino == by_descriptor.st_ino && by_name.st_dev == by_descriptor.st_dev) {
        descriptor_ = opened;
        write_holder();
        return true;
      }
      close(opened);
    }
  }

  void release() override {
    if (descriptor_ < 0) return;
    unlink(file_.c_str());
    close(descriptor_);
    descriptor_ = -1;
  }

  bool isLocked() override { return descriptor_ >= 0; }

 private:
  /// Who wrote the file; writers that are not ours leave it empty.
  static std::string read_holder(int descriptor) {
    char text[32] = {};
    const ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
    const long process = size > 0 ? std::strtol(text, nullptr, 10) : 0;
    if (process == getpid()) return "this process (number " + std::to_string(process) + ")";
    return process > 0 ? "process " + std::to_string(process) : "another process";
  }

  void write_holder() const {
    const std::string text = std::to_string(getpid()) + "\n";
    // Only for messages: a full disk must not keep anybody from opening the index.
    if (ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, text.data(), text.size(), 0) < 0) return;
  }

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace

WriteLockFactory::WriteLockFactory(std::filesystem::path folder) : folder_(std::move(folder)) {}

Lucene::LockPtr WriteLockFactory::makeLock(const Lucene::String& name) {
  return Lucene::newLucene<WriteLock>(folder_ / to_utf8(name));
}

void WriteLockFactory::clearLock(const Lucene::String&) {}

}  // namespace relucent
