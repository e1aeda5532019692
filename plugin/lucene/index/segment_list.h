#pragma once

#include <Lucene.h>

#include <Directory.h>
#include <Document.h>
#include <IndexReader.h>
#include <Lock.h>
#include <SegmentInfos.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "plugin/index_format/segment/segment.h"
#include "plugin/lucene/index/commit_point.h"

namespace relucent {

/// An index's segments and commits. Holds the index's lock. A commit is on disk before it counts: first the segments'
/// files, then the segments_N file that lists them. The last but one commit stays until the next commit or close(), as
/// a fallback in case a power cut destroys the newest files.
class SegmentList {
 public:
  enum class Start {
    nothing,      ///< start empty; the first commit replaces an existing index
    last_commit,  ///< continue the newest intact commit
  };

  /// Throws Error `io` for a locked folder, `invalid_data` if no commit is intact. If the last writer died, compares
  /// all our files with their checksums. Removes files that no commit needs.
  SegmentList(const std::filesystem::path& folder, Start start);
  ~SegmentList();

  const std::vector<segment::Segment>& segments() const { return segments_; }
  std::int32_t documents() const;
  std::int32_t deleted() const;
  Lucene::MapStringString user_data() const;
  /// identity_of() the segments.
  std::string identity() const;
  std::int64_t next_number() const;
  /// What was wrong with a dropped newer commit; empty if none was dropped.
  const std::string& dropped() const { return dropped_; }

  /// Sets the segments; keeps the data of segments that were present before. Writes the deletions that are new.
  void set_segments(const std::vector<segment::Segment>& segments, std::int64_t next_number);
  /// Makes the segments and `user_data` durable, in one atomic step.
  void commit(const Lucene::MapStringString& user_data);
  /// The segments of all kept commits.
  std::set<std::string> kept_segments() const;
  /// Reads the last commit again after another writer of this process has changed it.
  void read_again();
  /// A reader of a segment's terms as if no document were deleted.
  Lucene::IndexReaderPtr open_terms(const segment::Segment& segment) const;
  /// The last document of the last segment, read from its files; null if there is none.
  Lucene::DocumentPtr read_last_document() const;
  Lucene::DirectoryPtr directory() const { return directory_; }
  /// Drops all commits but the last and releases the lock.
  void close();

 private:
  struct Commit {
    std::string file;
    std::set<std::string> files, segments;
  };
  void lock();
  void take(const CommitPoint& commit);
  void write_deletions(const segment::Segment& segment, const Lucene::SegmentInfoPtr& info) const;
  void remember(const std::string& file);
  void drop_commits(std::size_t keep);
  void remove_unneeded_files() const;

  std::filesystem::path folder_;
  Lucene::DirectoryPtr directory_;
  Lucene::LockPtr lock_;
  Lucene::SegmentInfosPtr infos_;
  std::vector<segment::Segment> segments_;
  std::deque<Commit> commits_;  // on the disk, the newest last
  std::set<std::string> synced_;
  bool replaces_ = false;  ///< the first commit replaces an existing index
  std::string dropped_;
};

}  // namespace relucent
