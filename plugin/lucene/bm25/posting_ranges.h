#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "plugin/lucene/bm25/ranked_contributions.h"
#include "plugin/lucene/index/postings.h"

namespace relucent::bm25 {

/// GCC 12 takes a function that only prefetches for one without effects, and removes calls of it. The empty statement
/// prevents that.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

/// One term's postings in one segment in a form that can be entered anywhere, with a bound of the contributions in each
/// range of kRange documents. A contribution is weight · h, where h = 1 − 1 / (1 + frequency · length factor), so the
/// bounds hold for any weight.
struct PostingRanges {
  static constexpr std::int32_t kRange = 32, kPart = 8;

  /// Buckets of 2^bucket_bits documents, from kRange to 2^kPlaceBits: the smallest with some postings each, on average.
  int bucket_bits = 5;
  /// [buckets + 1][bucket_size()]: a bucket's first posting and then, for each of its ranges, 255 · h of the largest
  /// contribution in each part of kPart documents, rounded up, a byte each, lowest first. They are together because a
  /// search reads both at random places.
  std::vector<std::uint32_t> buckets;
  /// From the lowest bit: the place in the bucket in kPlaceBits, the length byte, and the frequency. The length is here
  /// because all documents' lengths are the largest array, which a search would read at random places.
  std::vector<std::uint32_t> postings;
  /// The frequencies that have no room there, where all of their bits are set, by document.
  std::vector<std::pair<std::int32_t, std::int32_t>> large;
  std::vector<std::uint8_t> bounds;  ///< the largest of a range's parts; 0: no posting
  RankedContributions ranked{};

  static constexpr int kPlaceBits = 10, kLengthBits = 8;
  static constexpr std::int32_t kMostFrequency = (1 << (32 - kPlaceBits - kLengthBits)) - 1;

  /// Calls use(place in the range, frequency, length byte) for the postings of those documents of a range that have a
  /// bit in `documents`, ascending.
  template <typename Use>
  void each_of(std::size_t range, std::uint32_t documents, Use&& use) const {
    const std::size_t start = range * kRange;
    const auto before = static_cast<std::uint32_t>(start & ((std::size_t{1} << bucket_bits) - 1));
    const std::uint32_t* const bucket = bucket_of(range);
    const std::uint32_t* const end = postings.data() + bucket[bucket_size()];
    for (const std::uint32_t* posting = postings.data() + bucket[0]; posting != end; ++posting) {
      const std::uint32_t place = (*posting & ((1U << kPlaceBits) - 1)) - before;
      if (place >= static_cast<std::uint32_t>(kRange) || (documents >> place & 1) == 0) continue;
      auto frequency = static_cast<std::int32_t>(*posting >> (kPlaceBits + kLengthBits));
      if (frequency == kMostFrequency) frequency = large_frequency(static_cast<std::int32_t>(start + place));
      use(place, frequency, static_cast<std::uint8_t>(*posting >> kPlaceBits));
    }
  }
  std::int32_t large_frequency(std::int32_t document) const;

  /// The bounds of a range's parts, as `buckets` has them.
  std::uint32_t parts(std::size_t range) const { return buckets[place_of_parts(range)]; }
  std::uint32_t& parts(std::size_t range) { return buckets[place_of_parts(range)]; }
  std::size_t bucket_size() const { return 1 + (std::size_t{1} << bucket_bits) / kRange; }

  /// Load what parts() reads of the range, and what each_of() does.
  void prefetch_bucket(std::size_t range) const {
    prefetch(bucket_of(range));
    prefetch(bucket_of(range) + bucket_size());
  }
  void prefetch_postings(std::size_t range) const {
    prefetch(postings.data() + bucket_of(range)[0]);
    prefetch(postings.data() + bucket_of(range)[bucket_size()]);
  }

  /// A bound of h, which may be any number if the list is damaged. Contributions are computed in float, so a little is
  /// added before rounding up: the rounding of a contribution is below 1e-6 of its weight.
  static std::uint8_t code_of(double h) {
    return h > 0 ? static_cast<std::uint8_t>(std::min(255.0, h * 255 + 1.001)) : std::uint8_t{0};
  }

  std::size_t memory() const {
    return sizeof(PostingRanges) + buckets.size() * sizeof(buckets[0]) + postings.size() * sizeof(postings[0]) +
           large.size() * sizeof(large[0]) + bounds.size();
  }
  static std::size_t expected_memory(std::size_t postings, std::size_t documents) {
    return postings * sizeof(std::uint32_t) + documents / kRange * (1 + 2 * sizeof(std::uint32_t));
  }

 private:
  std::size_t bucket_begin(std::size_t range) const { return (range * kRange >> bucket_bits) * bucket_size(); }
  std::size_t place_of_parts(std::size_t range) const {
    return bucket_begin(range) + 1 + (range & (bucket_size() - 2));  // a power of two of ranges
  }
  const std::uint32_t* bucket_of(std::size_t range) const { return buckets.data() + bucket_begin(range); }
};

/// Reads the whole list once. `lengths` has one byte per document; null: every length is 1.
PostingRanges read_posting_ranges(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors);

}  // namespace relucent::bm25
