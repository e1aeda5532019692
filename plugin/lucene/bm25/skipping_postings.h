#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "plugin/lucene/bm25/posting_ranges.h"
#include "plugin/lucene/bm25/short_postings.h"

namespace relucent::bm25 {

/// A term's postings in one segment in the form in which a search that skips reads them.
using SkippingPostings = std::variant<PostingRanges, ShortPostings>;

/// Those of terms of one field in one segment. Making them costs more than a search, so a term has to be searched for
/// twice, and once they take more than a limit, only those that no search has used for long make room. Thread-safe; two
/// threads that need the same term at once may both read it.
class SkippingPostingsCache {
 public:
  std::shared_ptr<const SkippingPostings> find(const Lucene::String& term);
  /// Whether postings of about so many bytes are worth making for a term that was not found.
  bool admits(const Lucene::String& term, std::size_t bytes, std::size_t limit);
  void keep(const Lucene::String& term, std::shared_ptr<const SkippingPostings> postings, std::size_t limit);

 private:
  struct Entry {
    Lucene::String term;
    std::shared_ptr<const SkippingPostings> postings;
    std::uint64_t used;  ///< by which lookup
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  ///< the most recently used first
  std::unordered_map<Lucene::String, std::list<Entry>::iterator> known_;
  std::unordered_set<Lucene::String> asked_for_;  ///< terms that were not found
  std::uint64_t lookups_ = 0;
  std::size_t memory_ = 0;
};

}  // namespace relucent::bm25
