#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// Decompresses a stream (gz, bz2, xz, lzma, zstd, Z) and opens containers in it (tar, zip), in one pass and with a
/// single buffer. A stream that is not a container is one unnamed entry. One thread at a time.
class ArchiveReader {
 public:
  /// What is opened; otherwise the stream's own bytes are one unnamed entry.
  enum class Opens { everything, compression, nothing };

  /// `source` must outlive this; `name` names it in errors.
  ArchiveReader(ByteStream& source, std::string name, Opens opens = Opens::everything);
  ~ArchiveReader();

  /// Moves to the next entry that is a file; false at the end. Throws Error `invalid_data` for a damaged archive.
  bool next_entry();
  /// Whether the entry comes from a tar or zip container and so has a name.
  bool in_container() const;
  /// The entry's path inside its container.
  const std::string& entry_name() const;
  /// Reads decompressed bytes of the entry; returns 0 at its end. Throws Error `invalid_data` for damaged or truncated
  /// data.
  std::size_t read(char* buffer, std::size_t capacity);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent::index_tools
