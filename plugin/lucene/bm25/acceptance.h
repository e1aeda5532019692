#pragma once

#include <BitVector.h>
#include <DocIdSet.h>
#include <DocIdSetIterator.h>
#include <Filter.h>
#include <IndexReader.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace relucent::bm25 {

/// Accepts a segment's documents that pass the filter and are not deleted.
class Acceptance {
 public:
  /// @param deletions, filter  may be null
  Acceptance(const Lucene::BitVectorPtr& deletions, const Lucene::FilterPtr& filter, const Lucene::IndexReaderPtr& leaf)
      : deletions_(deletions), filtered_(filter) {
    if (!filter) return;
    if (const auto set = filter->getDocIdSet(leaf)) iterator_ = set->iterator();
    document_ = iterator_ ? iterator_->nextDoc() : Lucene::DocIdSetIterator::NO_MORE_DOCS;
  }

  bool filtered() const { return filtered_; }
  bool everything() const { return !deletions_ && !filtered_; }

  /// With a filter, call it for windows in ascending order.
  void start_window(std::int32_t start, std::int32_t size) {
    start_ = start;
    if (!filtered_) return;
    allowed_.assign(static_cast<std::size_t>(size), 0);
    if (document_ < start) document_ = iterator_->advance(start);
    for (; document_ < start + size; document_ = iterator_->nextDoc()) {
      allowed_[static_cast<std::size_t>(document_ - start)] = 1;
    }
  }

  /// @param place  of a document in the window
  bool operator()(std::int32_t place) const {
    if (filtered_ && allowed_[static_cast<std::size_t>(place)] == 0) return false;
    return !deletions_ || !deletions_->get(start_ + place);
  }

 private:
  Lucene::BitVectorPtr deletions_;
  bool filtered_;
  Lucene::DocIdSetIteratorPtr iterator_;
  std::int32_t document_ = 0, start_ = 0;
  std::vector<std::uint8_t> allowed_;  ///< 1: the filter accepts the document; empty without a filter
};

}  // namespace relucent::bm25
