#pragma once

#include <Lucene.h>

#include <Directory.h>
#include <SegmentInfos.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plugin/index_format/check/segments_list.h"
#include "plugin/index_format/segment/segment.h"

namespace relucent {

/// A commit as described by its segments_N file.
struct CommitPoint {
  std::string file;  ///< segments_N
  Lucene::SegmentInfosPtr infos;
  std::vector<segment::Segment> segments;
  std::vector<check::SegmentEntry> entries;  ///< the same segments with all their data from segments_N
};

/// How closely to check a commit's files. All must exist. Those with recorded sizes and checksums (in our segments)
/// must also have the recorded size, or the recorded size and checksum.
enum class FileCheck { size, checksum };

/// The newest intact commit.
struct WholeCommit {
  CommitPoint commit;
  /// The segments_N files of newer, damaged commits, and what is wrong with the newest of them. Empty if none is
  /// damaged.
  std::vector<std::string> damaged;
  std::string damage;
};

/// nullopt if the folder has no segments_N file. Throws Error `invalid_data` naming a file if it has some but no commit
/// is intact.
std::optional<WholeCommit> find_whole_commit(const std::filesystem::path& folder, const Lucene::DirectoryPtr& directory,
                                             FileCheck check);

/// The names of a commit's files without segments_N.
std::vector<std::string> files_of(const CommitPoint& commit, const Lucene::DirectoryPtr& directory);

/// Names and sizes of segments, equal to bm25::segments_identity() for a reader of these segments.
std::string identity_of(const std::vector<segment::Segment>& segments);

/// Writes and reads the record of a segment's files, kept in Lucene's segment diagnostics. It is read without the list
/// of deleted documents.
void record_files(const segment::Segment& segment, const Lucene::SegmentInfoPtr& info);
segment::Segment recorded_segment(const Lucene::SegmentInfoPtr& info);

/// The same for the file of the segment's deleted documents as it is now, NAME_GENERATION.del. There is no record of
/// the files that other programs write.
void record_deletions(const segment::FileSum& sum, const Lucene::SegmentInfoPtr& info);
struct RecordedDeletions {
  std::string file;
  segment::FileSum sum;
};
std::optional<RecordedDeletions> recorded_deletions(const Lucene::SegmentInfoPtr& info);

}  // namespace relucent
