#pragma once

#include <filesystem>

#include "plugin/index/file_directory.h"
#include "plugin/index/segment/block_sums.h"

namespace relucent {

/// A folder whose files are compared with known checksums as they are read, block by block, before Lucene++ sees a
/// byte; each block once for each time that the file is opened. A block that differs, or is cut off, makes the read
/// throw CorruptIndexException. Files of which no sums are known are read as they are.
class CheckedDirectory : public FileDirectory {
 public:
  /// `sums` by file name, those of the blocks among them.
  CheckedDirectory(const std::filesystem::path& folder, segment::FileSums sums);

  Lucene::IndexInputPtr openInput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name, std::int32_t buffer_size) override;

 private:
  segment::FileSums sums_;
};

}  // namespace relucent
