#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "plugin/lucene/index/postings.h"

namespace relucent::bm25 {

/// What helps to skip in one term's postings in one segment: where each block of kPostings begins, and a bound of the
/// contributions in each range of kRange documents. A contribution is weight · h, where h = 1 − 1 / (1 + frequency ·
/// length factor), so the bounds hold for any weight.
struct PostingBlocks {
  static constexpr std::int32_t kPostings = 32;
  static constexpr std::int32_t kRange = 32;
  static constexpr std::array<std::size_t, 3> kRanks = {10, 100, 1000};

  std::vector<std::uint8_t> list;    ///< the postings as in the .frq file, then PostingKernels::kReadAhead zeros
  std::vector<std::size_t> begin;    ///< where each block begins in the list
  std::vector<std::int32_t> last;    ///< each block's last document
  std::vector<std::uint8_t> bounds;  ///< 255 · h of a range's largest contribution, rounded up; 0: no posting
  /// The 10th, 100th and 1,000th largest frequency · length factor; 0: there are not so many.
  std::array<float, kRanks.size()> ranked{};

  /// A bound of h, which may be any number if the list is damaged. Contributions are computed in float, so a little is
  /// added before rounding up: the rounding of a contribution is below 1e-6 of its weight.
  static std::uint8_t code_of(double h) {
    return h > 0 ? static_cast<std::uint8_t>(std::min(255.0, h * 255 + 1.001)) : std::uint8_t{0};
  }

  std::size_t memory() const {
    return sizeof(PostingBlocks) + list.size() + begin.size() * sizeof(begin[0]) + last.size() * sizeof(last[0]) +
           bounds.size();
  }
};

/// Reads the whole list once. `lengths` has one byte per document; null: every length is 1.
PostingBlocks read_posting_blocks(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors);

/// The blocks of terms of one field in one segment. Once they take more than a limit, those that were used least
/// recently go. Thread-safe; two threads that need the same term at once may both read it.
class PostingBlocksCache {
 public:
  std::shared_ptr<const PostingBlocks> find(const Lucene::String& term);
  void keep(const Lucene::String& term, std::shared_ptr<const PostingBlocks> blocks, std::size_t limit);

 private:
  struct Entry {
    Lucene::String term;
    std::shared_ptr<const PostingBlocks> blocks;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  ///< the most recently used first
  std::unordered_map<Lucene::String, std::list<Entry>::iterator> known_;
  std::size_t memory_ = 0;
};

}  // namespace relucent::bm25
