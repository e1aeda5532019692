#include "plugin/lucene/bm25/posting_blocks.h"

#include <algorithm>
#include <functional>

namespace relucent::bm25 {
namespace {

/// The largest so many numbers of all that are added.
class Largest {
 public:
  void add(float number) {
    if (best_.size() == PostingBlocks::kRanks.back()) {
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

PostingBlocks read_posting_blocks(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors) {
  PostingBlocks blocks;
  std::vector<float> ranges(static_cast<std::size_t>(segment->maxDoc() / PostingBlocks::kRange + 1), 0.0F);
  Largest largest;
  Postings postings(segment);
  postings.seek(term);
  while (postings.next_block(PostingBlocks::kPostings)) {
    const auto documents = postings.documents();
    const auto frequencies = postings.frequencies();
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const std::uint8_t length = lengths == nullptr ? std::uint8_t{1} : lengths[documents[i]];
      const float product = static_cast<float>(frequencies[i]) * factors[length];
      float& range = ranges[static_cast<std::size_t>(documents[i] / PostingBlocks::kRange)];
      range = std::max(range, product);
      largest.add(product);
    }
    blocks.begin.push_back(blocks.list.size());
    blocks.list.insert(blocks.list.end(), postings.bytes().begin(), postings.bytes().end());
    blocks.last.push_back(documents.back());
  }
  blocks.bounds.reserve(ranges.size());
  for (const double range : ranges) {
    blocks.bounds.push_back(PostingBlocks::code_of(1 - 1 / (1 + range)));
  }
  blocks.list.resize(blocks.list.size() + PostingKernels::kReadAhead);
  blocks.list.shrink_to_fit();
  const std::vector<float> best = largest.sorted();
  for (std::size_t i = 0; i < PostingBlocks::kRanks.size(); ++i) {
    if (best.size() >= PostingBlocks::kRanks[i]) blocks.ranked[i] = best[PostingBlocks::kRanks[i] - 1];
  }
  return blocks;
}

std::shared_ptr<const PostingBlocks> PostingBlocksCache::find(const Lucene::String& term) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(term);
  if (found == known_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->blocks;
}

void PostingBlocksCache::keep(const Lucene::String& term, std::shared_ptr<const PostingBlocks> blocks,
                              std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(term)) return;
  memory_ += blocks->memory();
  entries_.push_front({term, std::move(blocks)});
  known_.emplace(term, entries_.begin());
  while (memory_ > limit && entries_.size() > 1) {
    memory_ -= entries_.back().blocks->memory();
    known_.erase(entries_.back().term);
    entries_.pop_back();
  }
}

}  // namespace relucent::bm25
