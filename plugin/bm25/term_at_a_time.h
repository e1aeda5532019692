#pragma once

#include <Filter.h>

#include <cstdint>
#include <vector>

#include "plugin/bm25/boolean_weight.h"
#include "plugin/bm25/contributions.h"
#include "plugin/bm25/top_hits.h"

namespace relucent::bm25 {

/// True if every posting of these terms scores above zero, which TermAtATime presumes.
bool can_go_term_at_a_time(const std::vector<TermWeightPtr>& terms);

/// Scores a flat disjunction, a window of documents after the other: each term adds its postings to an array of sums,
/// then the window is searched for the best. Once the threshold is high enough, terms whose largest contributions
/// cannot lift a document over it are only counted, and looked up for the documents that the other terms leave
/// (MaxScore; Turtle and Flood 1995). Every matching document is counted, and hits and scores are those of a search
/// without skipping.
class TermAtATime {
 public:
  /// @param filter may be null
  /// @param top gets the hits; both must outlive this
  TermAtATime(const std::vector<TermWeightPtr>& terms, const Lucene::FilterPtr& filter, TopHits& top);

  /// Adds to the hits with `first_document` added to the documents; returns how many documents match. Segments must
  /// come in the order of their documents. Deleted documents and the filter are seen to.
  std::int32_t search(const Lucene::SegmentReaderPtr& segment, std::int32_t first_document);

 private:
  std::vector<TermWeightPtr> terms_;  ///< those that occur
  std::vector<Contributions> contributions_;
  bool any_order_;  ///< of additions gives the same sum
  Lucene::FilterPtr filter_;
  TopHits& top_;
};

}  // namespace relucent::bm25
