#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index/commit_point.h"
#include "plugin/index/segment/block_sums.h"
#include "relucent/index_check.h"

namespace relucent::check {

/// The checksums of a commit's files, for CheckedDirectory. Those of our own segments are read from beside them. Other
/// programs' files are read through, their structure is checked, and their sums are remembered in `folder`; segments
/// that are remembered and have not changed since are not read again. `checksums` compares every file of both kinds.
/// Throws Error `invalid_data` for damaged files.
segment::FileSums checked_sums(const std::filesystem::path& folder, const CommitPoint& commit, IndexCheck check);

/// As relucent/index_files.h describes it.
std::vector<std::string> find_damage(const std::filesystem::path& folder, const CommitPoint& commit);

/// The sums of one of our segments' files and their blocks, by file name; empty where it lacks them. Throws Error
/// `invalid_data` where they are damaged.
segment::FileSums recorded_sums(const std::filesystem::path& folder, const segment::Segment& segment);

}  // namespace relucent::check
