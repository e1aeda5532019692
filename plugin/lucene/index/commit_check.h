#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index_format/segment/block_sums.h"
#include "plugin/lucene/index/commit_point.h"
#include "relucent/index_check.h"

namespace relucent::check {

/// The checksums of a commit's files, for CheckedDirectory. Our segments have a file with their checksums; those of
/// other programs' files are remembered in `folder`. Whoever changes a file can also change its checksum, so the
/// structure of every segment is checked once per machine (structure_notes.h). `checksums` compares every file of both
/// kinds. Throws Error `invalid_data` for damaged files.
segment::FileSums checked_sums(const std::filesystem::path& folder, const CommitPoint& commit, IndexCheck check);

/// Only the structure, once per machine: before segments are appended to or merged. Throws Error `invalid_data`.
void check_structure(const std::filesystem::path& folder, const std::vector<SegmentEntry>& segments);
/// Notes that the files, all of a commit's, were written by this process and need no check on this machine.
void note_structure(const std::filesystem::path& folder, const std::vector<std::string>& files);

/// Checks the structure of every segment in any case. See relucent/index_files.h.
std::vector<std::string> find_damage(const std::filesystem::path& folder, const CommitPoint& commit);

/// The checksums of the files and blocks of one of our segments, by file name; empty if it has none. Throws Error
/// `invalid_data` if they are damaged.
segment::FileSums recorded_sums(const std::filesystem::path& folder, const segment::Segment& segment);

}  // namespace relucent::check
