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
  constexpr int most_bits = 10, bucket_postings = 2;
  PostingRanges found;
  Postings postings(segment);
  postings.seek(term);
  const auto documents = static_cast<std::int64_t>(segment->maxDoc());
  const auto count = static_cast<std::int64_t>(postings.document_frequency());
  while (found.bucket_bits < most_bits && (count << found.bucket_bits) < bucket_postings * documents) {
    ++found.bucket_bits;
  }
  const std::int32_t places = (1 << found.bucket_bits) - 1;
  found.postings.reserve(static_cast<std::size_t>(count));
  found.begin.reserve(static_cast<std::size_t>(documents >> found.bucket_bits) + 2);
  std::vector<float> ranges(static_cast<std::size_t>(documents / PostingRanges::kRange + 1), 0.0F);
  Largest largest;
  while (postings.next_block()) {
    for (std::size_t i = 0; i < postings.documents().size(); ++i) {
      const std::int32_t document = postings.documents()[i], frequency = postings.frequencies()[i];
      const std::uint8_t length = lengths == nullptr ? std::uint8_t{1} : lengths[document];
      const float product = static_cast<float>(frequency) * factors[length];
      float& range = ranges[static_cast<std::size_t>(document / PostingRanges::kRange)];
      range = std::max(range, product);
      largest.add(product);

      const auto buckets = static_cast<std::size_t>(document >> found.bucket_bits) + 1;
      if (found.begin.size() < buckets) found.begin.resize(buckets, static_cast<std::uint32_t>(found.postings.size()));
      // A damaged list may have a frequency below 0.
      const bool small = frequency >= 0 && frequency < found.most_in_posting();
      if (!small) found.large.emplace_back(document, frequency);
      const std::int32_t kept = small ? frequency : found.most_in_posting();
      found.postings.push_back(static_cast<std::uint16_t>(kept << found.bucket_bits | (document & places)));
    }
  }
  found.begin.resize(static_cast<std::size_t>(documents >> found.bucket_bits) + 2,
                     static_cast<std::uint32_t>(found.postings.size()));
  found.bounds.reserve(ranges.size());
  for (const double range : ranges) found.bounds.push_back(PostingRanges::code_of(1 - 1 / (1 + range)));
  const std::vector<float> best = largest.sorted();
  for (std::size_t i = 0; i < PostingRanges::kRanks.size(); ++i) {
    if (best.size() >= PostingRanges::kRanks[i]) found.ranked[i] = best[PostingRanges::kRanks[i] - 1];
  }
  return found;
}

std::shared_ptr<const PostingRanges> PostingRangesCache::find(const Lucene::String& term) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(term);
  if (found == known_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->ranges;
}

void PostingRangesCache::keep(const Lucene::String& term, std::shared_ptr<const PostingRanges> ranges,
                              std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(term)) return;
  memory_ += ranges->memory();
  entries_.push_front({term, std::move(ranges)});
  known_.emplace(term, entries_.begin());
  while (memory_ > limit && entries_.size() > 1) {
    memory_ -= entries_.back().ranges->memory();
    known_.erase(entries_.back().term);
    entries_.pop_back();
  }
}

}  // namespace relucent::bm25
