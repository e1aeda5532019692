#pragma once

#include <SegmentReader.h>

#include <cstdint>
#include <vector>

#include "plugin/lucene/bm25/acceptance.h"
#include "plugin/lucene/bm25/top_hits.h"
#include "plugin/lucene/bm25/weights.h"

namespace relucent::bm25 {

/// The most terms for which ranges have useful bounds.
inline constexpr std::size_t kMaxSkippingTerms = 64;
/// Finds a segment's best hits from document `from` on for a flat disjunction of BM25 terms whose sums do not depend on
/// the order of addition, without counting its matches. For each range of PostingRanges::kRange documents, the terms'
/// bounds are added up; only ranges whose bound exceeds the threshold are read, after the ranges with the largest
/// bounds, which raise the threshold (block-max pruning: Mallia, Suel and Tonellotto, SIGIR 2024). The bounds of a
/// range's parts then exclude most of it, or all. Hits and scores are those of TermAtATime, to the bit.
///
/// Returns false if more than PostingKernels::most_live of the ranges would have to be read. Then `top` has no new
/// hits, but perhaps a higher threshold, and the caller has to search the segment in another way.
///
/// @param terms           at most kMaxSkippingTerms, each with postings in the index
/// @param first_document  is added to the documents of hits
bool search_skipping(const Lucene::SegmentReaderPtr& segment, const std::vector<TermWeightPtr>& terms,
                     Acceptance& acceptance, std::int32_t from, std::int32_t first_document, TopHits& top);

}  // namespace relucent::bm25
