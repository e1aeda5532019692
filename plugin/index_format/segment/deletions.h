#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "plugin/index_format/segment/file_output.h"

namespace relucent::segment {

/// Which documents of a segment are deleted: a bit per document.
class Deletions {
 public:
  /// None of `documents` is deleted.
  explicit Deletions(std::int32_t documents);

  /// Reads a file that write() or Lucene wrote. Throws Error `io`, and `invalid_data` if it is not for so many
  /// documents.
  static Deletions read(const std::filesystem::path& file, std::int32_t documents);
  /// Writes NAME_GENERATION.del.
  FileSum write(const std::filesystem::path& file) const;

  std::int32_t documents() const { return documents_; }
  std::int32_t count() const { return count_; }
  bool contains(std::int32_t document) const {
    return (bits_[static_cast<std::size_t>(document >> 3)] >> (document & 7) & 1) != 0;
  }
  /// False if it was deleted before.
  bool insert(std::int32_t document);

  /// [documents]: the number of each document in a segment where this one's begin at `first` and lack the deleted ones,
  /// which have -1.
  std::vector<std::int32_t> new_numbers(std::int32_t first) const;

 private:
  std::int32_t documents_, count_ = 0;
  std::vector<std::uint8_t> bits_;  // Lucene's: one byte more than the bits fill if they fill whole bytes
};

}  // namespace relucent::segment
