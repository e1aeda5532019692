#pragma once

#include <Filter.h>

#include <cstdint>
#include <vector>

#include "bm25/boolean_weight.h"
#include "bm25/top_hits.h"

namespace relucent::bm25 {

/// True if every posting of these terms scores above zero, which term_at_a_time() takes as the mark of a match.
bool can_go_term_at_a_time(const std::vector<TermWeightPtr>& terms);

/// Scores a flat disjunction in one segment, a window of documents after the other: each term adds its postings to an
/// array of sums, then the window is searched for the best. Deleted documents and the filter are looked at then.
/// Adds to `top` with `first_document` added to the documents; returns how many documents match.
std::int32_t term_at_a_time(const Lucene::SegmentReaderPtr& segment, std::int32_t first_document,
                            const std::vector<TermWeightPtr>& terms, const Lucene::FilterPtr& filter, TopHits& top);

}  // namespace relucent::bm25
