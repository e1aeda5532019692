#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index/commit_point.h"
#include "plugin/index/segment/block_sums.h"
#include "relucent/index_check.h"

namespace relucent::check {

/// The checksums of a commit's files, for CheckedDirectory. Our segments have a file with their checksums. Other
/// programs' files are read to check their structure, and their checksums are remembered in `folder`; remembered
/// segments that have not changed are not read again. `checksums` compares every file of both kinds. Throws Error
/// `invalid_data` for damaged files.
segment::FileSums checked_sums(const std::filesystem::path& folder, const CommitPoint& commit, IndexCheck check);

/// See relucent/index_files.h.
std::vector<std::string> find_damage(const std::filesystem::path& folder, const CommitPoint& commit);

/// The checksums of the files and blocks of one of our segments, by file name; empty if it has none. Throws Error
/// `invalid_data` if they are damaged.
segment::FileSums recorded_sums(const std::filesystem::path& folder, const segment::Segment& segment);

}  // namespace relucent::check
