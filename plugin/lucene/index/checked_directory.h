#pragma once

#include <filesystem>

#include "plugin/index_format/segment/block_sums.h"
#include "plugin/lucene/index/file_directory.h"

namespace relucent {

/// A directory that compares each block of a file with its known checksum before Lucene++ sees a byte, once per opening
/// of the file. Reading a block that differs or is truncated throws CorruptIndexException. Files without known
/// checksums are read unchecked.
class CheckedDirectory : public FileDirectory {
 public:
  /// `sums` by file name, including block checksums.
  CheckedDirectory(const std::filesystem::path& folder, segment::FileSums sums);

  Lucene::IndexInputPtr openInput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name, std::int32_t buffer_size) override;

 private:
  segment::FileSums sums_;
};

}  // namespace relucent
