#pragma once

#include <Filter.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "plugin/lucene/bm25/acceptance.h"
#include "plugin/lucene/bm25/boolean_weight.h"
#include "plugin/lucene/bm25/contributions.h"
#include "plugin/lucene/bm25/top_hits.h"

namespace relucent::bm25 {

/// Whether every posting of these terms scores above zero, or is a likelihood of zero, as TermAtATime requires.
bool can_go_term_at_a_time(const std::vector<TermWeightPtr>& terms);

/// Counts every match.
inline constexpr std::int64_t kCountAll = std::numeric_limits<std::int64_t>::max();

/// Scores a flat disjunction in windows of documents: each term adds its contributions to an array of sums, then the
/// best sums become hits. Once the threshold is high enough, terms that together cannot lift a document above it are
/// skipped: their documents are counted, but their contributions are added only for the candidates that the other terms
/// leave (MaxScore; Turtle and Flood 1995). Skipping changes neither the hits nor the scores nor the number of matches.
/// Once enough matches are counted, search_skipping() continues where it is faster.
class TermAtATime {
 public:
  /// @param filter  may be null
  /// @param count   how many matches are counted before postings may be skipped
  /// @param top     receives the hits; must outlive this object
  TermAtATime(const std::vector<TermWeightPtr>& terms, const Lucene::FilterPtr& filter, std::int64_t count,
              TopHits& top);

  /// Adds the segment's hits, with `first_document` added to their document numbers, and returns the number of matching
  /// documents, as far as they were counted. Excludes deleted documents and applies the filter. Call it for the
  /// segments in document order.
  std::int32_t search(const Lucene::SegmentReaderPtr& segment, std::int32_t first_document);

  /// Whether all matches were counted.
  bool counted_all() const { return counted_all_; }

 private:
  bool skip(const Lucene::SegmentReaderPtr& segment, Acceptance& acceptance, std::int32_t from,
            std::int32_t first_document);

  std::vector<TermWeightPtr> terms_;  ///< without terms that do not occur in the index
  std::vector<Contributions> contributions_;
  std::int64_t count_, matches_ = 0;
  bool counted_all_ = true;
  bool any_order_;  ///< whether sums do not depend on the order of addition
  Lucene::FilterPtr filter_;
  TopHits& top_;
};

}  // namespace relucent::bm25
