#pragma once

#include <Lucene.h>

#include <Directory.h>
#include <Document.h>
#include <Lock.h>
#include <SegmentInfos.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "plugin/index/commit_point.h"
#include "plugin/index/segment/segment.h"

namespace relucent {

/// An index's segments as its commits have them. Holds the index's lock. A commit is on the disk before it counts:
/// first the segments' files, then segments_N that names them. The commit before the last one stays until the next, or
/// until close(), so that there is one to go back to where a power cut has taken the newest files.
class SegmentList {
 public:
  enum class Start {
    nothing,      ///< what is there, if anything, goes with the first commit
    last_commit,  ///< the newest whole one
  };

  /// Throws Error `io` for a locked folder, `invalid_data` where no commit is whole. After a writer that died every
  /// file of ours is compared with its checksum. Removes what no commit needs.
  SegmentList(const std::filesystem::path& folder, Start start);
  ~SegmentList();

  const std::vector<segment::Segment>& segments() const { return segments_; }
  std::int32_t documents() const;
  Lucene::MapStringString user_data() const;
  /// identity_of() the segments.
  std::string identity() const;
  std::int64_t next_number() const;
  /// What was wrong with a newer commit that had to be dropped; empty otherwise.
  const std::string& dropped() const { return dropped_; }

  /// Sets the segments; what belongs to segments that were there before stays as it was.
  void set_segments(const std::vector<segment::Segment>& segments, std::int64_t next_number);
  /// Makes the segments and `user_data` durable, in one atomic step.
  void commit(const Lucene::MapStringString& user_data);
  /// The segments of all commits that are kept.
  std::set<std::string> kept_segments() const;
  /// Reads the last commit again after another writer of this process has changed it.
  void read_again();
  /// The last document of the last segment, read from its files; nothing if there is none.
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
  bool replaces_ = false;  ///< what is there is another index, which goes with the first commit
  std::string dropped_;
};

}  // namespace relucent
