#include "index_tools/evaluation/output_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <cerrno>
#include <optional>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {

struct OutputFile::Implementation {
  std::filesystem::path file;
  std::optional<AtomicFile> whole;  // unset if `direct` is set
  UniqueFd direct;
  // Declared after the descriptor, so that it is destroyed before.
  std::unique_ptr<archive, int (*)(archive*)> compressor{nullptr, archive_write_free};

  int descriptor() const noexcept { return whole ? whole->descriptor() : direct.get(); }

  void open_compressor() {
    compressor.reset(archive_write_new());
    archive_write_set_format_raw(compressor.get());
    archive_write_add_filter_gzip(compressor.get());
    // No timestamp in the header, so that the same content gives the same bytes.
    archive_write_set_filter_option(compressor.get(), "gzip", "timestamp", nullptr);
    archive_write_set_bytes_in_last_block(compressor.get(), 1);
    if (archive_write_open_fd(compressor.get(), descriptor()) != ARCHIVE_OK) throw_io_error(file, "writing", EIO);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_filetype(entry, AE_IFREG);
    const int status = archive_write_header(compressor.get(), entry);
    archive_entry_free(entry);
    if (status < ARCHIVE_WARN) compression_failed();
  }

  [[noreturn]] void compression_failed() const {
    const int code = archive_errno(compressor.get());
    throw_io_error(file, "writing", code != 0 ? code : EIO);
  }
};

OutputFile::OutputFile(const std::filesystem::path& file) : implementation_(std::make_unique<Implementation>()) {
  auto& self = *implementation_;
  self.file = file;
  std::error_code problem;
  const auto status = std::filesystem::status(file, problem);
  if (const auto named = named_descriptor(file, STDOUT_FILENO)) {
    // Not opened by name: that would start at the beginning of a file that a shell has redirected to.
    self.direct = duplicate_descriptor(*named, file.native() == "-" ? "standard output" : file.string());
  } else if (std::filesystem::is_directory(status)) {
    throw Error(ErrorKind::io, file.string(), "is a directory", "pass a file in it");
  } else if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    self.direct.reset(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!self.direct) throw_io_error(file, "opening", errno);
  } else {
    self.whole.emplace(file);
  }
  if (file.extension() == ".gz" && !named_descriptor(file, STDOUT_FILENO)) self.open_compressor();
}

OutputFile::~OutputFile() = default;

void OutputFile::write(std::string_view bytes) {
  auto& self = *implementation_;
  if (self.compressor == nullptr) {
    write_all(self.descriptor(), bytes, self.file);
  } else if (!bytes.empty() && archive_write_data(self.compressor.get(), bytes.data(), bytes.size()) < 0) {
    self.compression_failed();
  }
}

void OutputFile::commit() {
  auto& self = *implementation_;
  if (self.compressor != nullptr) {
    if (archive_write_close(self.compressor.get()) < ARCHIVE_WARN) self.compression_failed();
    self.compressor.reset();
  }
  if (self.whole) {
    self.whole->commit();
  } else if (self.direct.close() != 0) {
    throw_io_error(self.file, "writing", errno);
  }
}

}  // namespace relucent::index_tools
