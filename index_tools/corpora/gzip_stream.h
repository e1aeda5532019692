#pragma once

#include <memory>
#include <string>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// The decompressed bytes of a gzip stream of one or more members. Unlike libarchive 3.6 it compares each member's
/// checksum and length, so that a damaged byte never passes for text. One thread at a time.
class GzipStream : public ByteStream {
 public:
  /// `source` outlives this; `name` stands for it in errors.
  GzipStream(ByteStream& source, std::string name);
  ~GzipStream() override;

  /// Throws Error `invalid_data` where the stream is damaged or cut off.
  std::size_t read(char* buffer, std::size_t capacity) override;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// A stream with its first bytes read, so that they can be looked at.
class PeekedStream : public ByteStream {
 public:
  /// `source` outlives this.
  explicit PeekedStream(ByteStream& source);

  /// Whether the bytes to come start with gzip's magic number.
  bool starts_gzip() const;
  std::size_t read(char* buffer, std::size_t capacity) override;
  /// The first bytes are forgotten by a seek; seekable where the source is.
  std::int64_t seek(std::int64_t offset, int whence) override;
  bool seekable() const override { return source_.seekable(); }

 private:
  ByteStream& source_;
  std::string first_;
};

}  // namespace relucent::index_tools
