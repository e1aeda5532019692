#include "plugin/lucene/bm25/posting_ranges.h"

#include <algorithm>
#include <functional>

namespace relucent::bm25 {
namespace {

/// The largest so many numbers of all that are added.
class Largest {
 public:
  void add(float number) {
    if (best_.size() == PostingRanges::kRanks.back()) {
      if (number <= best_.front()) return;
      std::ranges::pop_heap(best_, std::greater());
      best_.pop_back();
    }
    best_.push_back(number);
    std::ranges::push_heap(best_, std::greater());
  }
  std::vector<float> sorted() {
    std::ranges::sort(best_, std::greater());
    return std::move(best_);
  }

 private:
  std::vector<float> best_;  // a heap with the smallest in front
};

}  // namespace

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
  Largest largest;
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
  const std::vector<float> best = largest.sorted();
  for (std::size_t i = 0; i < PostingRanges::kRanks.size(); ++i) {
    if (best.size() >= PostingRanges::kRanks[i]) found.ranked[i] = best[PostingRanges::kRanks[i] - 1];
  }
  return found;
}

std::shared_ptr<const PostingRanges> PostingRangesCache::find(const Lucene::String& term) {
  const std::lock_guard lock(mutex_);
  ++lookups_;
  const auto found = known_.find(term);
  if (found == known_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  found->second->used = lookups_;
  return found->second->ranges;
}

bool PostingRangesCache::admits(const Lucene::String& term, std::size_t bytes, std::size_t limit) {
  constexpr std::uint64_t long_unused = 10'000;  // lookups
  constexpr std::size_t most_terms = 100'000;
  const std::lock_guard lock(mutex_);
  const bool room = memory_ + bytes <= limit || entries_.empty();
  if (!room && lookups_ - entries_.back().used < long_unused) return false;
  if (asked_for_.size() >= most_terms) asked_for_.clear();
  return !asked_for_.insert(term).second;
}

void PostingRangesCache::keep(const Lucene::String& term, std::shared_ptr<const PostingRanges> ranges,
                              std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(term)) return;
  memory_ += ranges->memory();
  entries_.push_front({term, std::move(ranges), lookups_});
  known_.emplace(term, entries_.begin());
  while (memory_ > limit && entries_.size() > 1) {
    memory_ -= entries_.back().ranges->memory();
    known_.erase(entries_.back().term);
    entries_.pop_back();
  }
}

}  // namespace relucent::bm25
