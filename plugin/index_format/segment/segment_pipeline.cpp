#include "plugin/index_format/segment/segment_pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <system_error>

#include "plugin/index_format/segment/segment_writer.h"

namespace relucent::segment {
namespace {

constexpr std::size_t kMergedAtOnce = 10;
constexpr std::int64_t kMaxMergedBytes = std::int64_t{8} << 30;

/// A worker's memory apart from its range: known words and buffers of open files.
constexpr std::size_t kWorkerBytes = 5 << 20;
/// The single reading thread cannot feed more, and they would not fit into the buffer.
constexpr int kMaxWorkers = 32;

/// A range takes its own size while it waits, and about four times as much in addition while it is inverted.
std::size_t range_bytes(std::size_t buffer, int workers) {
  const auto count = static_cast<std::size_t>(workers);
  const std::size_t left = buffer - std::min(buffer, count * kWorkerBytes);
  return std::clamp<std::size_t>(left / (6 * count + 1), 1 << 16, 32 << 20);
}

/// Segments of one level, a power of ten of bytes, are merged into one of the next level.
int level_of(const Segment& segment) {
  return static_cast<int>(std::log10(static_cast<double>(std::max<std::int64_t>(segment.bytes(), 1))));
}

/// Whether most of its documents are deleted, so that it is rewritten without waiting for others to merge with.
bool mostly_deleted(const Segment& segment) { return segment.deleted() > segment.documents / 2; }

}  // namespace

SegmentPipeline::SegmentPipeline(Options options, const std::vector<Segment>& segments, std::int64_t next_number)
    : options_(std::move(options)), next_number_(next_number), counts_(options_.fields.analyzed().size()) {
  dropped_.counts = dropped_of_commit_.counts = counts_;
  for (const Segment& segment : segments) {
    slots_.push_back({segment, Slot::State::ready});
    kept_.insert(segment.name);
  }
  start_workers();
  // Nothing may throw from here on, because workers are running.
  if (workers_.empty()) own_source_ = options_.make_source();
  range_bytes_ = range_bytes(options_.buffer_bytes, std::max(1, worker_count_));
}

void SegmentPipeline::start_workers() {
  const int wanted = options_.threads > 1 ? std::min(options_.threads, kMaxWorkers) : 0;
  const std::lock_guard lock(mutex_);  // until all workers are started and counted
  workers_.reserve(static_cast<std::size_t>(wanted));
  try {
    while (worker_count_ < wanted) {
      workers_.emplace_back([this] { run_worker(); });
      ++worker_count_;
    }
  } catch (const std::system_error&) {
    // The system has no more threads: the running ones, or else the caller's, do the same work.
  } catch (const std::bad_alloc&) {
    // The same.
  }
}

SegmentPipeline::~SegmentPipeline() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    cancelled_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void SegmentPipeline::add(std::string_view id, std::string_view text, std::string_view metadata,
                          std::span<const fields::FieldValue> values) {
  range_.add(id, text, metadata, values);
  if (range_.bytes() >= range_bytes_) hand_over();
}

void SegmentPipeline::flush() {
  if (!range_.empty()) hand_over();
  std::unique_lock lock(mutex_);
  wait(lock, [this] { return to_write_.empty() && writing_ == 0; });
}

void SegmentPipeline::finish_merges() {
  std::unique_lock lock(mutex_);
  wait(lock, [this] { return to_write_.empty() && writing_ == 0 && merging_ == 0 && !due_merge(); });
}

void SegmentPipeline::hand_over() {
  std::unique_lock lock(mutex_);
  // Room for one range per worker, so that reading continues while all of them are busy.
  wait(lock, [this] { return to_write_.size() < static_cast<std::size_t>(std::max(1, worker_count_)); });
  Slot& slot = slots_.emplace_back();
  slot.segment.name = next_name();
  slot.state = Slot::State::to_write;
  to_write_.push_back({&slot, std::move(range_)});
  range_ = {};
  changed_.notify_all();
  if (workers_.empty()) wait(lock, [this] { return to_write_.empty() && !due_merge(); });
}

template <typename Done>
void SegmentPipeline::wait(std::unique_lock<std::mutex>& lock, Done&& done) {
  for (;;) {
    rethrow_failure();
    if (done()) return;
    if (!workers_.empty()) {
      changed_.wait(lock);
    } else {
      work(lock, *own_source_);
    }
  }
}

void SegmentPipeline::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void SegmentPipeline::run_worker() {
  std::unique_lock lock(mutex_, std::defer_lock);
  try {
    const auto source = options_.make_source();
    lock.lock();
    while (!stopped_) {
      if (!work(lock, *source)) changed_.wait(lock);
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure_ && !stopped_) failure_ = std::current_exception();
    stopped_ = true;
    cancelled_ = true;
    changed_.notify_all();
  }
}

bool SegmentPipeline::work(std::unique_lock<std::mutex>& lock, analysis::TermSource& source) {
  // At least one worker keeps writing, so that long merges do not block the reader.
  if (!only_this_merges_ && merging_ < std::max(1, worker_count_ - 1)) {
    if (const auto sources = due_merge()) {
      merge(lock, *sources);
      return true;
    }
  }
  if (to_write_.empty()) return false;
  write(lock, source);
  return true;
}

void SegmentPipeline::write(std::unique_lock<std::mutex>& lock, analysis::TermSource& source) {
  Work next = std::move(to_write_.front());
  to_write_.pop_front();
  ++writing_;
  const std::string name = next.slot->segment.name;
  lock.unlock();
  changed_.notify_all();
  Segment written = write_segment(options_.folder, name, options_.fields, next.documents, source, options_.token_ids);
  next.documents = {};
  lock.lock();
  add_counts(counts_, written.counts);
  next.slot->segment = std::move(written);
  next.slot->state = Slot::State::ready;
  --writing_;
  changed_.notify_all();
}

/// A segment with few documents left, or the first ten adjacent segments of the lowest level that has ten.
std::optional<SegmentPipeline::Sources> SegmentPipeline::due_merge() {
  std::set<int> levels;
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->state != Slot::State::ready || slot->segment.files.empty()) continue;
    if (mostly_deleted(slot->segment) && slot->segment.bytes() <= kMaxMergedBytes) return Sources{slot};
    levels.insert(level_of(slot->segment));
  }
  for (const int level : levels) {
    Sources run;
    std::int64_t bytes = 0;
    for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
      const bool fits =
          slot->state == Slot::State::ready && !slot->segment.files.empty() && level_of(slot->segment) <= level;
      if (!fits) {
        run.clear();
        bytes = 0;
        continue;
      }
      run.push_back(slot);
      bytes += slot->segment.bytes();
      if (run.size() == kMergedAtOnce) {
        if (bytes <= kMaxMergedBytes) return run;
        bytes -= run.front()->segment.bytes();
        run.erase(run.begin());
      }
    }
  }
  return std::nullopt;
}

void SegmentPipeline::merge(std::unique_lock<std::mutex>& lock, const Sources& sources) {
  std::vector<Segment> segments;
  for (const auto& slot : sources) {
    slot->state = Slot::State::merging;
    segments.push_back(slot->segment);
  }
  ++merging_;
  const std::string name = next_name();
  lock.unlock();
  Dropped dropped;
  Segment merged = merge_segments(options_.folder, name, options_.fields, segments, cancelled_, &dropped);
  lock.lock();
  --merging_;
  dropped_.documents += dropped.documents;
  add_counts(dropped_.counts, dropped.counts);
  take_merged(sources, segments, std::move(merged));
  for (const Segment& segment : segments) {
    if (!kept_.contains(segment.name)) remove_files(segment);
  }
  changed_.notify_all();
}

/// Puts the merged segment in the place of its sources, of which `before` is what the merge has read: documents deleted
/// since then are deleted in it.
void SegmentPipeline::take_merged(const Sources& sources, const std::vector<Segment>& before, Segment merged) {
  std::int32_t first = 0;
  std::shared_ptr<Deletions> later;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto &read = before[i].deletions, &now = sources[i]->segment.deletions;
    if (now != read) {
      if (!later) later = std::make_shared<Deletions>(merged.documents);
      const std::vector<std::int32_t> numbers = (read ? *read : Deletions(before[i].documents)).new_numbers(first);
      for (std::int32_t document = 0; document < before[i].documents; ++document) {
        const std::int32_t number = numbers[static_cast<std::size_t>(document)];
        if (number >= 0 && now->contains(document)) later->insert(number);
      }
    }
    first += before[i].documents - before[i].deleted();
  }
  merged.deletions = std::move(later);
  std::for_each(sources.begin() + 1, sources.end(), [this](const auto& slot) { slots_.erase(slot); });
  if (merged.documents == 0) {
    remove_files(merged);
    slots_.erase(sources.front());
    return;
  }
  sources.front()->segment = std::move(merged);
  sources.front()->state = Slot::State::ready;
}

bool SegmentPipeline::merge_to(std::size_t segments) {
  flush();
  finish_merges();
  std::unique_lock lock(mutex_);
  only_this_merges_ = true;
  const bool merged = merge_to(lock, segments);
  only_this_merges_ = false;
  return merged;
}

bool SegmentPipeline::merge_to(std::unique_lock<std::mutex>& lock, std::size_t segments) {
  // The last place takes all that is left; the segments before it only lose their deleted documents.
  for (std::size_t i = 0; i + 1 < segments && i < slots_.size();) {
    const auto slot = std::next(slots_.begin(), static_cast<std::ptrdiff_t>(i));
    const std::size_t before = slots_.size();
    if (slot->segment.deletions && !slot->segment.files.empty()) merge(lock, {slot});
    if (slots_.size() == before) ++i;  // otherwise nothing was left of it
  }
  Sources last;
  for (std::size_t i = segments - 1; i < slots_.size(); ++i) {
    last.push_back(std::next(slots_.begin(), static_cast<std::ptrdiff_t>(i)));
    if (last.back()->segment.files.empty()) return slots_.size() <= segments;
  }
  if (last.size() > 1 || (last.size() == 1 && last.front()->segment.deletions)) merge(lock, last);
  return true;
}

void SegmentPipeline::change_deletions(const std::function<void(const std::vector<Segment*>&)>& change) {
  const std::lock_guard lock(mutex_);
  std::vector<Segment*> segments;
  for (Slot& slot : slots_) segments.push_back(&slot.segment);
  change(segments);
  changed_.notify_all();
}

std::vector<Segment> SegmentPipeline::segments_to_commit() {
  const std::lock_guard lock(mutex_);
  std::vector<Segment> segments;
  for (const Slot& slot : slots_) {
    segments.push_back(slot.segment);
    kept_.insert(slot.segment.name);
  }
  dropped_of_commit_ = dropped_;
  return segments;
}

void SegmentPipeline::keep_only(const std::set<std::string>& names) {
  const std::lock_guard lock(mutex_);
  kept_ = names;
}

void SegmentPipeline::remove_files(const Segment& segment) const {
  for (const auto& [extension, sum] : segment.files) {
    ::unlink(file_of(options_.folder, segment.name, extension.c_str()).c_str());
  }
}

std::string SegmentPipeline::next_name() {
  std::string digits;
  for (auto number = next_number_++; number > 0 || digits.empty(); number /= 36) {
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]);
  }
  return "_" + digits;
}

std::int64_t SegmentPipeline::next_number() const {
  const std::lock_guard lock(mutex_);
  return next_number_;
}

std::vector<FieldStatistics> SegmentPipeline::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace relucent::segment
