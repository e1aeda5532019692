#include "plugin/lucene/index/file_directory.h"

#include <BufferedIndexInput.h>
#include <BufferedIndexOutput.h>
#include <FSDirectory.h>
#include <LuceneException.h>
#include <NativeFSLockFactory.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

using Lucene::newLucene;

[[noreturn]] void throw_not_found(const fs::path& path) {
  throw Lucene::FileNotFoundException(to_lucene(path.string() + ": is missing"));
}

[[noreturn]] void throw_failure(const fs::path& path, const char* operation, int error) {
  throw Lucene::IOException(
      to_lucene(fmt::format("{}: {}: {}", path.string(), operation, std::generic_category().message(error))));
}

struct OpenFile {
  fs::path path;
  UniqueFd descriptor;
  std::int64_t size = 0;
};

/// Copies share the open file; each has its own position.
class FileInput : public Lucene::BufferedIndexInput {
 public:
  FileInput() = default;
  FileInput(const fs::path& path, std::int32_t buffer_size) : BufferedIndexInput(buffer_size) {
    const auto opened = std::make_shared<OpenFile>();
    opened->path = path;
    opened->descriptor.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!opened->descriptor && (errno == ENOENT || errno == ENOTDIR)) throw_not_found(path);
    struct stat status = {};
    if (!opened->descriptor || ::fstat(opened->descriptor.get(), &status) != 0) throw_failure(path, "opening", errno);
    if (!S_ISREG(status.st_mode)) throw_failure(path, "opening", S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    opened->size = status.st_size;
    file_ = opened;
  }

  std::int64_t length() override { return file_->size; }

  void close() override {}  // the last copy closes the file

  Lucene::LuceneObjectPtr clone(const Lucene::LuceneObjectPtr& other = {}) override {
    const auto copy = BufferedIndexInput::clone(other ? other : newLucene<FileInput>());
    boost::static_pointer_cast<FileInput>(copy)->file_ = file_;
    return copy;
  }

 protected:
  void readInternal(std::uint8_t* bytes, std::int32_t offset, std::int32_t count) override {
    std::int64_t at = getFilePointer();
    for (bytes += offset; count > 0;) {
      const ssize_t got = ::pread(file_->descriptor.get(), bytes, static_cast<std::size_t>(count), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_failure(file_->path, "reading", errno);
      if (got == 0) throw Lucene::IOException(to_lucene(file_->path.string() + ": read past EOF"));
      bytes += got;
      at += got;
      count -= static_cast<std::int32_t>(got);
    }
  }
  void seekInternal(std::int64_t) override {}

 private:
  std::shared_ptr<const OpenFile> file_;
};

class FileOutput : public Lucene::BufferedIndexOutput {
 public:
  explicit FileOutput(const fs::path& path) : path_(path) {
    file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_) throw_failure(path, "creating the file", errno);
  }

  std::int64_t length() override { return size_; }

  using BufferedIndexOutput::flushBuffer;
  void flushBuffer(const std::uint8_t* bytes, std::int32_t offset, std::int32_t count) override {
    std::int64_t at = bufferStart;
    for (bytes += offset; count > 0;) {
      const ssize_t written = ::pwrite(file_.get(), bytes, static_cast<std::size_t>(count), at);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw_failure(path_, "writing", errno);
      bytes += written;
      at += written;
      count -= static_cast<std::int32_t>(written);
    }
    size_ = std::max(size_, at);
  }

  void close() override {
    if (!file_) return;
    BufferedIndexOutput::close();
    if (file_.close() != 0) throw_failure(path_, "closing", errno);
  }

 private:
  fs::path path_;
  UniqueFd file_;
  std::int64_t size_ = 0;
};

}  // namespace

FileDirectory::FileDirectory(const fs::path& folder, const Lucene::LockFactoryPtr& locks)
    : folder_(folder), name_(to_lucene_folder(folder)) {
  // Not setLockFactory(), which would prefix the lock names with the folder's name although they lie in the folder.
  lockFactory = locks;
  if (!lockFactory) lockFactory = newLucene<Lucene::NativeFSLockFactory>(name_);
}

void FileDirectory::close() { isOpen = false; }

Lucene::String FileDirectory::getLockID() { return name_; }

Lucene::String FileDirectory::toString() { return L"FileDirectory@" + name_; }

fs::path FileDirectory::path_of(const Lucene::String& name) const { return folder_ / to_utf8(name); }

Lucene::HashSet<Lucene::String> FileDirectory::listAll() {
  ensureOpen();
  auto names = Lucene::HashSet<Lucene::String>::newInstance();
  std::error_code error;
  const std::vector<FolderEntry> entries = entries_of(folder_, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    throw Lucene::NoSuchDirectoryException(to_lucene(folder_.string() + ": is not a directory"));
  }
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder) names.add(to_lucene(entry.name));
  }
  if (error) throw_failure(folder_, "listing the directory", error.value());
  return names;
}

bool FileDirectory::fileExists(const Lucene::String& name) {
  ensureOpen();
  struct stat status = {};
  const fs::path path = path_of(name);
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  // Not "no": the writer removes the files of a segment that it does not find among those that exist.
  throw_failure(path, "looking for it", errno);
}

std::uint64_t FileDirectory::fileModified(const Lucene::String& name) {
  ensureOpen();
  struct stat status = {};
  const fs::path path = path_of(name);
  if (::stat(path.c_str(), &status) == 0) return static_cast<std::uint64_t>(status.st_mtime);
  if (errno == ENOENT || errno == ENOTDIR) throw_not_found(path);
  throw_failure(path, "reading its timestamp", errno);
}

void FileDirectory::touchFile(const Lucene::String& name) {
  ensureOpen();
  const fs::path path = path_of(name);
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0) throw_failure(path, "setting its timestamp", errno);
}

void FileDirectory::deleteFile(const Lucene::String& name) {
  ensureOpen();
  const fs::path path = path_of(name);
  if (::unlink(path.c_str()) != 0) throw_failure(path, "removing", errno);
}

std::int64_t FileDirectory::fileLength(const Lucene::String& name) {
  ensureOpen();
  struct stat status = {};
  const fs::path path = path_of(name);
  if (::stat(path.c_str(), &status) == 0) return status.st_size;
  if (errno == ENOENT || errno == ENOTDIR) throw_not_found(path);
  throw_failure(path, "reading its size", errno);
}

void FileDirectory::sync(const Lucene::String& name) {
  ensureOpen();
  const fs::path path = path_of(name);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) throw_failure(path, "syncing it to disk", errno);
}

Lucene::IndexOutputPtr FileDirectory::createOutput(const Lucene::String& name) {
  ensureOpen();
  return newLucene<FileOutput>(path_of(name));
}

Lucene::IndexInputPtr FileDirectory::openInput(const Lucene::String& name) {
  return openInput(name, Lucene::BufferedIndexInput::BUFFER_SIZE);
}

Lucene::IndexInputPtr FileDirectory::openInput(const Lucene::String& name, std::int32_t buffer_size) {
  ensureOpen();
  return newLucene<FileInput>(path_of(name), buffer_size);
}

Lucene::String to_lucene_folder(const std::filesystem::path& folder) {
  const Lucene::String name = to_lucene(folder.string());
  if (to_utf8(name) == folder.string()) return name;
  throw Error(ErrorKind::io, to_utf8(name), "the directory's name is not UTF-8, which Lucene++ requires",
              "rename it, or use a symbolic link with a UTF-8 name");
}

std::filesystem::path folder_of(const Lucene::DirectoryPtr& directory) {
  if (const auto ours = boost::dynamic_pointer_cast<FileDirectory>(directory)) return ours->folder();
  const auto files = boost::dynamic_pointer_cast<Lucene::FSDirectory>(directory);
  return files ? to_utf8(files->getFile()) : std::string();
}

}  // namespace relucent
