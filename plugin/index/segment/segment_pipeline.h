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
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "plugin/analysis/term_source.h"
#include "plugin/index/segment/document_range.h"
#include "plugin/index/segment/segment.h"
#include "plugin/index/token_ids.h"

namespace relucent::segment {

/// Documents in, segments out, in the same order: ranges of documents are written, and segments that have become many
/// are merged, by several threads. Nothing is committed here. One thread may call it at a time; what a worker throws
/// comes out of the next call.
class SegmentPipeline {
 public:
  struct Options {
    std::filesystem::path folder;
    Fields fields;
    /// 1: all work is done by the caller's own thread. At most 32 are started, and fewer where the system has no more.
    int threads = 1;
    /// Of memory for what is not written yet and what the threads need themselves, 5 MiB each. A document larger than
    /// its share is held whole.
    std::size_t buffer_bytes = 256 << 20;
    std::function<std::unique_ptr<analysis::TermSource>()> make_source;
    TokenIdEncoder token_ids = {};  ///< for those that the fields have
  };

  /// @param segments    those that are there
  /// @param next_number for the name of the next one
  SegmentPipeline(Options options, const std::vector<Segment>& segments, std::int64_t next_number);
  /// Breaks off what is not finished.
  ~SegmentPipeline();
  SegmentPipeline(const SegmentPipeline&) = delete;
  SegmentPipeline& operator=(const SegmentPipeline&) = delete;

  void add(std::string_view id, std::string_view text);
  /// Waits until everything added is in segments; merges go on.
  void flush();
  /// After flush(): all segments in order. Their files stay even when they are merged away meanwhile.
  std::vector<Segment> segments_to_commit();
  /// From now on only the files of these segments, which commits have, stay when they are merged away.
  void keep_only(const std::set<std::string>& names);
  /// Waits for the merges that are due.
  void finish_merges();
  /// Merges to at most so many segments; false where other programs' segments, which it cannot merge, are in the way.
  bool merge_to(std::size_t segments);

  std::int64_t next_number() const;
  /// Of all documents written as segments so far.
  std::int64_t documents_with_tokens() const;
  std::int64_t tokens() const;

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
  /// Does the next piece of work, unlocking meanwhile; false where there is none.
  bool work(std::unique_lock<std::mutex>& lock, analysis::TermSource& source);
  void write(std::unique_lock<std::mutex>& lock, analysis::TermSource& source);
  std::optional<Sources> due_merge();
  void merge(std::unique_lock<std::mutex>& lock, const Sources& sources);
  void remove_files(const Segment& segment) const;
  std::string next_name();
  void rethrow_failure() const;
  /// Waits for workers until `done`; without workers does their work.
  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, Done&& done);

  const Options options_;
  std::size_t range_bytes_ = 0;
  DocumentRange range_;                               // being filled
  std::unique_ptr<analysis::TermSource> own_source_;  // of the caller's thread, where it does the work

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Slots slots_;
  std::deque<Work> to_write_;
  std::int64_t next_number_;
  std::set<std::string> kept_;
  int writing_ = 0, merging_ = 0;
  std::int64_t documents_with_tokens_ = 0, tokens_ = 0;
  std::exception_ptr failure_;
  bool stopped_ = false;
  std::atomic<bool> cancelled_ = false;
  int worker_count_ = 0;
  std::vector<std::thread> workers_;  // last: they use the rest
};

}  // namespace relucent::segment
