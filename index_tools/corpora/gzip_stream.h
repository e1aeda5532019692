#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// The decompressed bytes of a gzip stream of one or more members. Unlike libarchive 3.6 it verifies each member's
/// checksum and length, so that a damaged byte is never taken for text. One thread at a time.
class GzipStream : public ByteStream {
 public:
  /// `source` outlives this; `name` names it in errors.
  GzipStream(ByteStream& source, std::string name);
  ~GzipStream() override;

  /// Throws Error `invalid_data` if the stream is damaged or truncated.
  std::size_t read(char* buffer, std::size_t capacity) override;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// A stream whose first bytes can be inspected before they are read.
class PeekedStream : public ByteStream {
 public:
  /// Reads up to `bytes` ahead. `source` outlives this.
  explicit PeekedStream(ByteStream& source, std::size_t bytes = 4096);

  /// The stream's first bytes.
  std::string_view first() const { return first_; }
  /// Whether they begin with gzip's magic number.
  bool starts_gzip() const;
  std::size_t read(char* buffer, std::size_t capacity) override;
  /// A seek discards the inspected bytes. Seekable if the source is.
  std::int64_t seek(std::int64_t offset, int whence) override;
  bool seekable() const override { return source_.seekable(); }

 private:
  ByteStream& source_;
  std::string first_;
  std::size_t given_ = 0;  // of the first bytes
};

}  // namespace relucent::index_tools
