#include "index_tools/corpora/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/core.h>

#include <cerrno>
#include <exception>
#include <utility>
#include <vector>

#include "index_tools/corpora/gzip_stream.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr int kMaxGzipLayers = 3;

}  // namespace

struct ArchiveReader::Implementation {
  // Our own stream decompresses gzip, because it verifies checksums; libarchive handles everything else.
  std::vector<std::unique_ptr<ByteStream>> layers;
  ByteStream* source;
  std::string name;
  std::vector<char> buffer = std::vector<char>(kReadBytes);
  std::exception_ptr source_error;  // an exception must not pass through libarchive's C frames
  ::archive* handle = nullptr;
  std::string entry;
  bool container = false;
  std::int64_t entry_bytes = 0;

  Implementation(ByteStream& stream, std::string given, Opens opens) : source(&stream), name(std::move(given)) {
    for (int i = 0; opens != Opens::nothing && i < kMaxGzipLayers; ++i) {
      auto peeked = std::make_unique<PeekedStream>(*source);
      const bool gzip = peeked->starts_gzip();
      source = layers.emplace_back(std::move(peeked)).get();
      if (!gzip) return;
      source = layers.emplace_back(std::make_unique<GzipStream>(*source, name)).get();
    }
  }
  ~Implementation() { ::archive_read_free(handle); }

  static la_ssize_t read_source(::archive* handle, void* self_pointer, const void** bytes) {
    auto* self = static_cast<Implementation*>(self_pointer);
    *bytes = self->buffer.data();
    try {
      return static_cast<la_ssize_t>(self->source->read(self->buffer.data(), self->buffer.size()));
    } catch (...) {
      self->source_error = std::current_exception();
      ::archive_set_error(handle, EIO, "the input cannot be read");
      return ARCHIVE_FATAL;
    }
  }

  static la_int64_t seek_source(::archive*, void* self_pointer, la_int64_t offset, int whence) {
    const std::int64_t moved = static_cast<Implementation*>(self_pointer)->source->seek(offset, whence);
    return moved < 0 ? ARCHIVE_FATAL : moved;
  }

  void check(la_ssize_t status) {
    if (source_error) std::rethrow_exception(std::exchange(source_error, nullptr));
    if (status >= ARCHIVE_WARN) return;
    const char* reason = ::archive_error_string(handle);
    throw Error(ErrorKind::invalid_data,
                fmt::format("{}{}{}: byte {}", name, entry.empty() ? "" : ":", entry, entry_bytes),
                fmt::format("the archive is damaged or truncated ({})", reason != nullptr ? reason : "no reason given"),
                "download or recreate the file");
  }
};

ArchiveReader::ArchiveReader(ByteStream& source, std::string name, Opens opens)
    : implementation_(std::make_unique<Implementation>(source, std::move(name), opens)) {
  auto& self = *implementation_;
  self.handle = ::archive_read_new();
  if (self.handle == nullptr) throw Error(ErrorKind::io, self.name, "out of memory");
  ::archive* handle = self.handle;
  if (opens != Opens::nothing) {
    ::archive_read_support_filter_bzip2(handle);
    ::archive_read_support_filter_xz(handle);
    ::archive_read_support_filter_lzma(handle);
    ::archive_read_support_filter_zstd(handle);
    ::archive_read_support_filter_compress(handle);
  }
  if (opens == Opens::everything) {
    ::archive_read_support_format_tar(handle);
    ::archive_read_support_format_zip(handle);
  }
  ::archive_read_support_format_raw(handle);
  ::archive_read_support_format_empty(handle);
  ::archive_read_set_callback_data(handle, &self);
  ::archive_read_set_read_callback(handle, Implementation::read_source);
  if (self.source->seekable()) ::archive_read_set_seek_callback(handle, Implementation::seek_source);
  self.check(::archive_read_open1(handle));
}

ArchiveReader::~ArchiveReader() = default;

bool ArchiveReader::next_entry() {
  auto& self = *implementation_;
  for (;;) {
    ::archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(self.handle, &entry);
    if (status == ARCHIVE_EOF) return false;
    self.check(status);
    const int format = ::archive_format(self.handle) & ARCHIVE_FORMAT_BASE_MASK;
    self.container = format == ARCHIVE_FORMAT_TAR || format == ARCHIVE_FORMAT_ZIP;
    self.entry_bytes = 0;
    self.entry.clear();
    if (!self.container) return true;
    if (::archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* path = ::archive_entry_pathname_utf8(entry);
    if (path == nullptr) path = ::archive_entry_pathname(entry);
    self.entry = path != nullptr ? path : "(entry with an unreadable name)";
    return true;
  }
}

bool ArchiveReader::in_container() const { return implementation_->container; }
const std::string& ArchiveReader::entry_name() const { return implementation_->entry; }

std::size_t ArchiveReader::read(char* buffer, std::size_t capacity) {
  auto& self = *implementation_;
  for (;;) {
    const la_ssize_t count = ::archive_read_data(self.handle, buffer, capacity);
    self.check(count);
    if (count < 0) continue;  // a warning: the data follow
    self.entry_bytes += count;
    return static_cast<std::size_t>(count);
  }
}

}  // namespace relucent::index_tools
