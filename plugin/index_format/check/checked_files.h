#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "plugin/index_format/check/file_state.h"
#include "plugin/index_format/segment/block_sums.h"

namespace relucent::check {

/// A record of other programs' files that passed the check, kept next to them in relucent.checked. Lucene++ does not
/// mistake that name for one of its own files.
struct CheckedFiles {
  static constexpr const char* kFileName = "relucent.checked";

  std::string commit;  ///< name and checksum of the last segments_N that listed them
  segment::FileSums sums;
  std::map<std::string, FileState> states;
};

/// nullopt if the file is missing, damaged, or much larger than a record of `files` (names and sizes) needs to be: a
/// record may be of a commit with more files.
std::optional<CheckedFiles> read_checked_files(const std::filesystem::path& folder, const segment::FileSums& files);
/// Writes the record atomically. Does nothing if the folder cannot be written; then the next opening checks the files
/// again.
void write_checked_files(const std::filesystem::path& folder, const CheckedFiles& files);

}  // namespace relucent::check
