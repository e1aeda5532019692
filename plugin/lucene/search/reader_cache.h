#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "relucent/stop.h"

namespace relucent {

/// What the stages of a rescorer opened next to indexes, kept until its reader is gone or forgotten. Thread-safe; no
/// lock is held while something is opened.
template <typename Opened>
class ReaderCache {
 public:
  /// What open() returned for this reader and stage, now or earlier. If another thread is opening it, waits no longer
  /// than `stop` allows. Throws whatever open() throws, and Error `deadline` or `interrupted` when `stop` is due while
  /// waiting.
  template <typename Open>
  std::shared_ptr<const Opened> of(const Lucene::IndexReaderPtr& reader, std::size_t stage, const StopSignal& stop,
                                   Open&& open) {
    if (!reader) return open();
    std::vector<Entry> gone;  // closed without the mutex
    std::unique_lock lock(mutex_);
    take(gone, [](const Entry& entry) { return entry.reader.expired(); });
    const auto is_open_or_untried = [&] {
      const Entry* const entry = find(reader, stage);
      return entry == nullptr || entry->opened;
    };
    if (stop.deadline) {
      changed_.wait_until(lock, stop.stop, *stop.deadline, is_open_or_untried);
    } else {
      changed_.wait(lock, stop.stop, is_open_or_untried);
    }
    if (!is_open_or_untried()) stop.throw_if_due("waiting for the records next to the index to be opened");
    if (const Entry* const entry = find(reader, stage)) return entry->opened;
    entries_.push_back({reader, stage, nullptr});
    lock.unlock();

    std::shared_ptr<const Opened> opened;
    try {
      opened = open();
    } catch (...) {
      set(reader, stage, nullptr);
      throw;
    }
    set(reader, stage, opened);
    return opened;
  }

  /// Opens it again the next time.
  void forget(const Lucene::IndexReaderPtr& reader, std::size_t stage) {
    forget_if([&](const Entry& entry) { return entry.stage == stage && entry.reader.lock() == reader; });
  }
  /// The same for all stages.
  void forget(const Lucene::IndexReaderPtr& reader) {
    forget_if([&](const Entry& entry) { return entry.reader.lock() == reader; });
  }

 private:
  struct Entry {
    boost::weak_ptr<Lucene::IndexReader> reader;
    std::size_t stage = 0;
    std::shared_ptr<const Opened> opened;  ///< null: a thread is opening it
  };

  Entry* find(const Lucene::IndexReaderPtr& reader, std::size_t stage) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.stage == stage && entry.reader.lock() == reader;
    });
    return found == entries_.end() ? nullptr : &*found;
  }

  /// Ends the opening; null: it failed.
  void set(const Lucene::IndexReaderPtr& reader, std::size_t stage, std::shared_ptr<const Opened> opened) {
    {
      const std::lock_guard lock(mutex_);
      if (opened) {
        find(reader, stage)->opened = std::move(opened);
      } else {
        entries_.erase(entries_.begin() + (find(reader, stage) - entries_.data()));
      }
    }
    changed_.notify_all();
  }

  template <typename Which>
  void take(std::vector<Entry>& taken, Which&& which) {
    const auto rest = std::partition(entries_.begin(), entries_.end(),
                                     [&](const Entry& entry) { return !entry.opened || !which(entry); });
    taken.assign(std::make_move_iterator(rest), std::make_move_iterator(entries_.end()));
    entries_.erase(rest, entries_.end());
  }

  template <typename Which>
  void forget_if(Which&& which) {
    std::vector<Entry> gone;
    const std::lock_guard lock(mutex_);
    take(gone, which);
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Entry> entries_;
};

}  // namespace relucent
