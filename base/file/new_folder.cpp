#include "base/file/new_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <span>
#include <system_error>
#include <vector>

#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent {

namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& target) : target_(target) {
  if (target_.filename().empty()) target_ = target_.parent_path();  // "name/"
  std::error_code error;
  if (fs::exists(fs::symlink_status(target_, error))) {
    throw Error(ErrorKind::usage, target.string(), "already exists", "choose another name or remove it first");
  }
  draft_ = target_;
  draft_ += fmt::format(".partial-{}", ::getpid());
  if (::mkdir(draft_.c_str(), 0777) != 0) throw_io_error(draft_, "creating the directory", errno);
}

NewFolder::~NewFolder() {
  if (published_) return;
  std::error_code ignored;  // nothing more can be done if the draft cannot be removed
  fs::remove_all(draft_, ignored);
}

NewFolder::File::File(const NewFolder& folder, std::string_view name)
    : path_(folder.draft_ / name), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (!file_) throw_io_error(path_, "creating", errno);
}

void NewFolder::File::write(std::span<const std::byte> bytes) {
  write_all(file_.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path_);
}

void NewFolder::File::finish() {
  sync_descriptor(file_.get(), path_);
  if (file_.close() != 0) throw_io_error(path_, "writing", errno);
}

void NewFolder::copy(const fs::path& file) { copy(open_regular_file(file).get(), file); }

void NewFolder::copy(int descriptor, const fs::path& file) {
  File out(*this, file.filename().string());
  std::vector<char> buffer(1 << 20);
  while (const std::size_t count = read_some(descriptor, buffer.data(), buffer.size(), file)) {
    out.write(std::as_bytes(std::span(buffer).first(count)));
  }
  out.finish();
}

void NewFolder::publish() {
  sync_directory(draft_);
  if (::rename(draft_.c_str(), target_.c_str()) != 0) throw_io_error(target_, "renaming", errno);
  published_ = true;
  try {
    sync_directory(target_.parent_path());
  } catch (const Error&) {
    // All or nothing: the caller may repeat what failed, for which the name must be free.
    published_ = ::rename(target_.c_str(), draft_.c_str()) != 0;
    throw;
  }
}

}  // namespace relucent
