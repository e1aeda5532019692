#include "plugin/lucene/bm25/posting_ranges.h"

#include <algorithm>

namespace relucent::bm25 {
std::int32_t PostingRanges::large_frequency(std::int32_t document) const {
  const auto found = std::ranges::lower_bound(large, document, {}, &std::pair<std::int32_t, std::int32_t>::first);
  return found->second;
}

PostingRanges read_posting_ranges(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors) {
  constexpr int bucket_postings = 2;
  constexpr std::int32_t kPartsPerRange = PostingRanges::kRange / PostingRanges::kPart;
  PostingRanges found;
  Postings postings(segment);
  postings.seek(term);
  const auto documents = static_cast<std::int64_t>(segment->maxDoc());
  const auto count = static_cast<std::int64_t>(postings.document_frequency());
  while (found.bucket_bits < PostingRanges::kPlaceBits && (count << found.bucket_bits) < bucket_postings * documents) {
    ++found.bucket_bits;
  }
  const std::int32_t places = (1 << found.bucket_bits) - 1;
  found.postings.reserve(static_cast<std::size_t>(count));
  found.buckets.resize((static_cast<std::size_t>(documents >> found.bucket_bits) + 2) * found.bucket_size());
  found.bounds.resize(static_cast<std::size_t>(documents / PostingRanges::kRange) + 1);
  std::size_t bucket = 0;  // the first one whose begin is not known
  const auto begin_up_to = [&](std::size_t end) {
    for (; bucket < end; ++bucket) {
      found.buckets[bucket * found.bucket_size()] = static_cast<std::uint32_t>(found.postings.size());
    }
  };
  std::int32_t part = 0;  // of the segment
  float best_of_part = 0;
  const auto close_part = [&] {
    const std::uint8_t code = PostingRanges::code_of(1 - 1 / (1 + best_of_part));
    const auto range = static_cast<std::size_t>(part / kPartsPerRange);
    found.bounds[range] = std::max(found.bounds[range], code);
    found.parts(range) |= static_cast<std::uint32_t>(code) << 8 * (part % kPartsPerRange);
  };
  LargestContributions largest;
  while (postings.next_block()) {
    if (lengths != nullptr) {
      for (const std::int32_t document : postings.documents()) __builtin_prefetch(lengths + document);
    }
    for (std::size_t i = 0; i < postings.documents().size(); ++i) {
      const std::int32_t document = postings.documents()[i], frequency = postings.frequencies()[i];
      const std::uint8_t length = lengths == nullptr ? std::uint8_t{1} : lengths[document];
      const float product = static_cast<float>(frequency) * factors[length];
      largest.add(product);
      if (const std::int32_t of_document = document / PostingRanges::kPart; of_document != part) {
        close_part();
        part = of_document;
        best_of_part = 0;
      }
      best_of_part = std::max(best_of_part, product);

      begin_up_to(static_cast<std::size_t>(document >> found.bucket_bits) + 1);
      // A damaged list may have a frequency below 0.
      const bool small = frequency >= 0 && frequency < PostingRanges::kMostFrequency;
      if (!small) found.large.emplace_back(document, frequency);
      const std::int32_t kept = small ? frequency : PostingRanges::kMostFrequency;
      found.postings.push_back((static_cast<std::uint32_t>(kept) << PostingRanges::kLengthBits | length)
                                   << PostingRanges::kPlaceBits |
                               static_cast<std::uint32_t>(document & places));
    }
  }
  close_part();
  begin_up_to(found.buckets.size() / found.bucket_size());
  found.ranked = largest.ranked();
  return found;
}

}  // namespace relucent::bm25
