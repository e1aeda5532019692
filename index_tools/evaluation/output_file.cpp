#include "index_tools/evaluation/output_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {

struct OutputFile::Implementation {
  std::filesystem::path file, temporary;  // temporary is empty if the file is written to directly
  int descriptor = -1;
  archive* compressor = nullptr;
  bool committed = false;

  ~Implementation() {
    if (compressor != nullptr) archive_write_free(compressor);
    if (descriptor >= 0) ::close(descriptor);
    if (!committed && !temporary.empty()) ::unlink(temporary.c_str());
  }

  [[noreturn]] void fail(const char* operation, int code) const {
    throw Error(ErrorKind::io, file.string(), std::string("cannot be ") + operation + ": " + std::strerror(code),
                code == ENOSPC || code == EDQUOT
                    ? "free some space, or choose another location"
                    : "check the directory and its permissions, or choose another location");
  }

  void write_all(const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t written = ::write(descriptor, bytes, count);
      if (written < 0) {
        if (errno == EINTR) continue;
        fail("written", errno);
      }
      bytes += written;
      count -= static_cast<std::size_t>(written);
    }
  }

  void open_compressor() {
    compressor = archive_write_new();
    archive_write_set_format_raw(compressor);
    archive_write_add_filter_gzip(compressor);
    // No timestamp in the header, so that the same content gives the same bytes.
    archive_write_set_filter_option(compressor, "gzip", "timestamp", nullptr);
    archive_write_set_bytes_in_last_block(compressor, 1);
    if (archive_write_open_fd(compressor, descriptor) != ARCHIVE_OK) fail("written", EIO);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_filetype(entry, AE_IFREG);
    const int status = archive_write_header(compressor, entry);
    archive_entry_free(entry);
    if (status < ARCHIVE_WARN) compression_failed();
  }

  [[noreturn]] void compression_failed() const {
    const int code = archive_errno(compressor);
    fail("written", code != 0 ? code : EIO);
  }

  void close_compressor() {
    if (compressor == nullptr) return;
    const int status = archive_write_close(compressor);
    const int code = archive_errno(compressor);
    archive_write_free(compressor);
    compressor = nullptr;
    if (status < ARCHIVE_WARN) fail("written", code != 0 ? code : EIO);
  }
};

OutputFile::OutputFile(const std::filesystem::path& file) : implementation_(std::make_unique<Implementation>()) {
  auto& self = *implementation_;
  self.file = file;
  if (const auto named = named_descriptor(file, STDOUT_FILENO)) {
    // Not opened by name: that would start at the beginning of a file that a shell has redirected to.
    self.descriptor = duplicate_descriptor(*named, file.native() == "-" ? "standard output" : file.string());
    return;
  }
  std::error_code problem;
  const auto status = std::filesystem::status(file, problem);
  if (std::filesystem::is_directory(status)) {
    throw Error(ErrorKind::io, file.string(), "is a directory", "pass a file in it");
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    self.descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    // Follow a link to the file itself, so that the link is kept.
    const auto target = std::filesystem::exists(status) ? std::filesystem::canonical(file, problem) : file;
    self.file = problem ? file : target;
    self.temporary = self.file;
    self.temporary += ".tmp" + std::to_string(::getpid());
    self.descriptor = ::open(self.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (self.descriptor < 0) {
    const int code = errno;
    self.temporary.clear();
    self.fail("created", code);
  }
  if (file.extension() == ".gz") self.open_compressor();
}

OutputFile::~OutputFile() = default;

void OutputFile::write(std::string_view bytes) {
  auto& self = *implementation_;
  if (self.compressor == nullptr) return self.write_all(bytes.data(), bytes.size());
  if (!bytes.empty() && archive_write_data(self.compressor, bytes.data(), bytes.size()) < 0) self.compression_failed();
}

void OutputFile::commit() {
  auto& self = *implementation_;
  self.close_compressor();
  if (!self.temporary.empty() && ::fsync(self.descriptor) != 0 && errno != EINVAL) self.fail("written", errno);
  const int descriptor = self.descriptor;
  self.descriptor = -1;
  if (::close(descriptor) != 0) self.fail("written", errno);
  if (!self.temporary.empty() && ::rename(self.temporary.c_str(), self.file.c_str()) != 0)
    self.fail("moved into place", errno);
  self.committed = true;
}

}  // namespace relucent::index_tools
