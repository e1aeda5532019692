#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "plugin/index/check/file_state.h"
#include "plugin/index/segment/block_sums.h"

namespace relucent::check {

/// What is remembered of other programs' files that were checked, in relucent.checked beside them, which Lucene++ does
/// not take for one of its own.
struct CheckedFiles {
  static constexpr const char* kFileName = "relucent.checked";

  std::string commit;  ///< name and checksum of the segments_N that named them last
  segment::FileSums sums;
  std::map<std::string, FileState> states;
};

/// Nothing where the file is missing or damaged.
std::optional<CheckedFiles> read_checked_files(const std::filesystem::path& folder);
/// Atomically. Does nothing if the folder cannot be written: the files are then checked again at the next opening.
void write_checked_files(const std::filesystem::path& folder, const CheckedFiles& files);

}  // namespace relucent::check
