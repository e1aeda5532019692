#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plugin/lucene/index/postings.h"

namespace relucent::bm25 {

/// One term's postings in one segment in a form that can be entered anywhere, with a bound of the contributions in each
/// range of kRange documents. A contribution is weight · h, where h = 1 − 1 / (1 + frequency · length factor), so the
/// bounds hold for any weight.
struct PostingRanges {
  static constexpr std::int32_t kRange = 32;
  static constexpr std::array<std::size_t, 3> kRanks = {10, 100, 1000};

  /// Buckets of 2^bucket_bits documents, from kRange to 2^kPlaceBits: the smallest with some postings each, on average.
  int bucket_bits = 5;
  std::vector<std::uint32_t> begin;  ///< [buckets + 1]: a bucket's first posting
  /// From the lowest bit: the place in the bucket in kPlaceBits, the length byte, and the frequency. The length is here
  /// because all documents' lengths are the largest array, which a search would read at random places.
  std::vector<std::uint32_t> postings;
  /// The frequencies that have no room there, where all of their bits are set, by document.
  std::vector<std::pair<std::int32_t, std::int32_t>> large;
  std::vector<std::uint8_t> bounds;  ///< 255 · h of a range's largest contribution, rounded up; 0: no posting
  /// The 10th, 100th and 1,000th largest frequency · length factor; 0: there are not so many.
  std::array<float, kRanks.size()> ranked{};

  static constexpr int kPlaceBits = 10, kLengthBits = 8;
  static constexpr std::int32_t kMostFrequency = (1 << (32 - kPlaceBits - kLengthBits)) - 1;

  /// Calls use(place in the range, frequency, length byte) for the postings of a range, ascending.
  template <typename Use>
  void each_of(std::size_t range, Use&& use) const {
    const std::size_t start = range * kRange, bucket = start >> bucket_bits;
    const auto before = static_cast<std::uint32_t>(start - (bucket << bucket_bits));
    const std::uint32_t* const end = postings.data() + begin[bucket + 1];
    for (const std::uint32_t* posting = postings.data() + begin[bucket]; posting != end; ++posting) {
      const std::uint32_t place = (*posting & ((1U << kPlaceBits) - 1)) - before;
      if (place >= static_cast<std::uint32_t>(kRange)) continue;
      auto frequency = static_cast<std::int32_t>(*posting >> (kPlaceBits + kLengthBits));
      if (frequency == kMostFrequency) frequency = large_frequency(static_cast<std::int32_t>(start + place));
      use(place, frequency, static_cast<std::uint8_t>(*posting >> kPlaceBits));
    }
  }
  std::int32_t large_frequency(std::int32_t document) const;

  /// Load what each_of() reads of the range: first where its postings are, then these.
  void prefetch_begin(std::size_t range) const { __builtin_prefetch(begin.data() + bucket_of(range)); }
  void prefetch_postings(std::size_t range) const { __builtin_prefetch(postings.data() + begin[bucket_of(range)]); }

  /// A bound of h, which may be any number if the list is damaged. Contributions are computed in float, so a little is
  /// added before rounding up: the rounding of a contribution is below 1e-6 of its weight.
  static std::uint8_t code_of(double h) {
    return h > 0 ? static_cast<std::uint8_t>(std::min(255.0, h * 255 + 1.001)) : std::uint8_t{0};
  }

  std::size_t memory() const {
    return sizeof(PostingRanges) + begin.size() * sizeof(begin[0]) + postings.size() * sizeof(postings[0]) +
           large.size() * sizeof(large[0]) + bounds.size();
  }

 private:
  std::size_t bucket_of(std::size_t range) const { return range * kRange >> bucket_bits; }
};

/// Reads the whole list once. `lengths` has one byte per document; null: every length is 1.
PostingRanges read_posting_ranges(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors);

/// Those of terms of one field in one segment. Making them costs more than a search, so a term has to be searched for
/// twice, and once they take more than a limit, only those that no search has used for long make room. Thread-safe; two
/// threads that need the same term at once may both read it.
class PostingRangesCache {
 public:
  std::shared_ptr<const PostingRanges> find(const Lucene::String& term);
  /// Whether ranges of about so many bytes are worth making for a term that was not found.
  bool admits(const Lucene::String& term, std::size_t bytes, std::size_t limit);
  void keep(const Lucene::String& term, std::shared_ptr<const PostingRanges> ranges, std::size_t limit);

 private:
  struct Entry {
    Lucene::String term;
    std::shared_ptr<const PostingRanges> ranges;
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
