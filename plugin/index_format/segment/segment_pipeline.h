#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "plugin/index_format/analysis/term_source.h"
#include "plugin/index_format/segment/document_range.h"
#include "plugin/index_format/segment/segment.h"
#include "plugin/index_format/segment/segment_merger.h"
#include "plugin/index_format/token_ids.h"

namespace relucent::segment {

/// Turns documents into segments, in the same order. Several threads write ranges of documents and merge segments once
/// there are many. Commits nothing. Call it from one thread at a time; the next call rethrows a worker's exception.
class SegmentPipeline {
 public:
  struct Options {
    std::filesystem::path folder;
    Fields fields;
    /// 1: do all work in the calling thread. At most 32 are started, or fewer if the system refuses more.
    int threads = 1;
    /// Memory for unwritten documents and the threads' own needs, 5 MiB per thread. A document larger than its share is
    /// still held whole.
    std::size_t buffer_bytes = 256 << 20;
    std::function<std::unique_ptr<analysis::TermSource>()> make_source;
    TokenIdEncoder token_ids = {};  ///< used if fields.token_ids
  };

  /// @param segments    the existing segments
  /// @param next_number the number of the next segment's name
  SegmentPipeline(Options options, const std::vector<Segment>& segments, std::int64_t next_number);
  /// Aborts unfinished work.
  ~SegmentPipeline();
  SegmentPipeline(const SegmentPipeline&) = delete;
  SegmentPipeline& operator=(const SegmentPipeline&) = delete;

  /// @param metadata, values  used if fields.metadata is stored
  void add(std::string_view id, std::string_view text, std::string_view metadata = {},
           std::span<const fields::FieldValue> values = {});
  /// Waits until all added documents are in segments; merges continue.
  void flush();
  /// After flush(): gives `change` all segments in order, whose `deletions` it may replace by others with more
  /// documents. Merges that are running take them over.
  void change_deletions(const std::function<void(const std::vector<Segment*>&)>& change);
  /// After flush(): all segments in order. Their files stay even if they are merged meanwhile.
  std::vector<Segment> segments_to_commit();
  /// The deleted documents that these segments no longer have.
  const Dropped& dropped() const { return dropped_of_commit_; }
  /// From now on only the files of these segments, which commits use, stay after a merge.
  void keep_only(const std::set<std::string>& names);
  /// Waits for all due merges.
  void finish_merges();
  /// Merges to at most `segments` segments without deleted documents; false if other programs' segments, which it
  /// cannot merge, prevent it.
  bool merge_to(std::size_t segments);

  std::int64_t next_number() const;
  /// The sum of Segment::counts of all segments written so far.
  std::vector<FieldStatistics> counts() const;

 private:
  struct Slot {
    enum class State { to_write, ready, merging };
    Segment segment;
    State state = State::ready;
  };
  using Slots = std::list<Slot>;
  struct Work {
    Slot* slot;
    DocumentRange documents;
  };
  using Sources = std::vector<Slots::iterator>;

  void start_workers();
  void hand_over();
  void run_worker();
  /// Does the next task, unlocked meanwhile; false if there is none.
  bool work(std::unique_lock<std::mutex>& lock, analysis::TermSource& source);
  void write(std::unique_lock<std::mutex>& lock, analysis::TermSource& source);
  std::optional<Sources> due_merge();
  void merge(std::unique_lock<std::mutex>& lock, const Sources& sources);
  void take_merged(const Sources& sources, const std::vector<Segment>& before, Segment merged);
  bool merge_to(std::unique_lock<std::mutex>& lock, std::size_t segments);
  void remove_files(const Segment& segment) const;
  std::string next_name();
  void rethrow_failure() const;
  /// Waits for the workers until `done`; without workers, does their work.
  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, Done&& done);

  const Options options_;
  std::size_t range_bytes_ = 0;
  DocumentRange range_;                               // being filled
  std::unique_ptr<analysis::TermSource> own_source_;  // of the calling thread if it does the work

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Slots slots_;
  std::deque<Work> to_write_;
  std::int64_t next_number_;
  std::set<std::string> kept_;
  int writing_ = 0, merging_ = 0;
  bool only_this_merges_ = false;  ///< merge_to(): no worker begins a merge of its own
  std::vector<FieldStatistics> counts_;
  Dropped dropped_, dropped_of_commit_;
  std::exception_ptr failure_;
  bool stopped_ = false;
  std::atomic<bool> cancelled_ = false;
  int worker_count_ = 0;
  std::vector<std::thread> workers_;  // last: they use the rest
};

}  // namespace relucent::segment
