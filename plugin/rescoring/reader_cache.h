#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace relucent {

/// What the stages of a rescorer opened beside indexes, kept as long as the indexes' readers. Thread-safe.
template <typename Opened>
class ReaderCache {
 public:
  /// What open() returned for this reader and stage, now or earlier. Throws whatever open() throws.
  template <typename Open>
  std::shared_ptr<const Opened> of(const Lucene::IndexReaderPtr& reader, std::size_t stage, Open&& open) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.reader.expired(); });
    for (const Entry& entry : entries_) {
      if (entry.stage == stage && entry.reader.lock() == reader) return entry.opened;
    }
    return entries_.emplace_back(Entry{reader, stage, open()}).opened;
  }
  /// Opens it anew the next time.
  void forget(const Lucene::IndexReaderPtr& reader, std::size_t stage) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.stage == stage && entry.reader.lock() == reader; });
  }

 private:
  struct Entry {
    boost::weak_ptr<Lucene::IndexReader> reader;
    std::size_t stage = 0;
    std::shared_ptr<const Opened> opened;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace relucent
