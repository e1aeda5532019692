#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// Looks through compression (gz, bz2, xz, lzma, zstd, Z) and containers (tar, zip) of a stream, in one pass and
/// without holding more than a buffer. What is neither is one entry without a name. One thread at a time.
class ArchiveReader {
 public:
  /// `source` must outlive this; `name` stands for it in errors.
  ArchiveReader(ByteStream& source, std::string name);
  ~ArchiveReader();

  /// Moves to the next entry that is a file; false at the end. Throws Error `invalid_data` for a damaged archive.
  bool next_entry();
  /// Whether the entry comes out of a tar or zip container, and so has a name.
  bool in_container() const;
  /// The entry's path inside its container.
  const std::string& entry_name() const;
  /// The entry's bytes, decompressed; 0 at its end. Throws Error `invalid_data` where they are damaged or cut off.
  std::size_t read(char* buffer, std::size_t capacity);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent::index_tools
