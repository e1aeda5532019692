#pragma once

#include <Lucene.h>

#include <Directory.h>
#include <SegmentInfos.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plugin/index/check/segments_list.h"
#include "plugin/index/segment/segment.h"

namespace relucent {

/// What a segments_N file says, and whether the files it names are there.
struct CommitPoint {
  std::string file;  ///< segments_N
  Lucene::SegmentInfosPtr infos;
  std::vector<segment::Segment> segments;
  std::vector<check::SegmentEntry> entries;  ///< the same segments, all that segments_N says of them
};

/// How closely a commit's files are looked at: that they are there and, where their sizes and checksums are recorded
/// (segments of ours), have the size, or are as they were written to the last byte.
enum class FileCheck { size, checksum };

/// The newest commit whose files are whole.
struct WholeCommit {
  CommitPoint commit;
  /// Where newer ones are not: their segments_N files, and what is wrong with the newest one. Empty where all is well.
  std::vector<std::string> damaged;
  std::string damage;
};

/// Nothing where the folder has no segments_N file. Throws Error `invalid_data`, naming a file, where it has some and
/// no commit is whole.
std::optional<WholeCommit> find_whole_commit(const std::filesystem::path& folder, const Lucene::DirectoryPtr& directory,
                                             FileCheck check);

/// The names of a commit's files, segments_N left out.
std::vector<std::string> files_of(const CommitPoint& commit, const Lucene::DirectoryPtr& directory);

/// Names and sizes of segments, as bm25::segments_identity() gives them for a reader of these.
std::string identity_of(const std::vector<segment::Segment>& segments);

/// Writes and reads what is recorded of a segment's files, in Lucene's own place for such things.
void record_files(const segment::Segment& segment, const Lucene::SegmentInfoPtr& info);
segment::Segment recorded_segment(const Lucene::SegmentInfoPtr& info);

}  // namespace relucent
