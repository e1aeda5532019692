#include "base/file/atomic_file.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>

#include "base/file/file_io.h"

namespace relucent {

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (auto target = std::filesystem::canonical(path, error); !error) path_ = std::move(target);
  temporary_ = path_;
  temporary_ += fmt::format(".tmp{}", ::getpid());
  file_.reset(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file_) throw_io_error(path_, "creating", errno);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) { write_all(file_.get(), bytes, path_); }

void AtomicFile::commit() {
  sync_descriptor(file_.get(), path_);
  if (file_.close() != 0) throw_io_error(path_, "writing", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "renaming", errno);
  temporary_.clear();
  sync_directory(path_.parent_path());
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace relucent
