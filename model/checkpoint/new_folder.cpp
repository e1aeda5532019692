#include "checkpoint/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "formats/mapped_file.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error(ErrorKind::io, path.string(), "cannot be written: " + std::generic_category().message(error),
              error == ENOSPC ? "free some space and try again" : "check the folder and its permissions");
}

void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a folder may be writable and not readable; the files themselves are synced
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

NewFolder::NewFolder(const fs::path& target) : target_(target) {
  if (target_.filename().empty()) target_ = target_.parent_path();  // "name/"
  std::error_code error;
  if (fs::exists(fs::symlink_status(target_, error))) {
    throw Error(ErrorKind::usage, target.string(), "exists already",
                "choose another name or remove it first");
  }
  draft_ = target_;
  draft_ += ".partial-" + std::to_string(::getpid());
  if (::mkdir(draft_.c_str(), 0777) != 0) fail(draft_, errno);
}

NewFolder::~NewFolder() {
  if (published_) return;
  std::error_code ignored;  // nothing more can be done about a draft that stays
  fs::remove_all(draft_, ignored);
}

NewFolder::File::File(const NewFolder& folder, std::string_view name)
    : path_(folder.draft_ / name),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(path_, errno);
}

NewFolder::File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFolder::File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void NewFolder::File::finish() {
  if (::fsync(descriptor_) != 0) fail(path_, errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail(path_, errno);
}

void NewFolder::copy(const fs::path& file) {
  const auto mapping = MappedFile::open(file);
  File out(*this, file.filename().string());
  out.write(mapping->bytes());
  out.finish();
}

void NewFolder::publish() {
  sync_folder(draft_);
  if (::rename(draft_.c_str(), target_.c_str()) != 0) fail(target_, errno);
  published_ = true;
  sync_folder(target_.parent_path().empty() ? fs::path(".") : target_.parent_path());
}

}  // namespace relucent
