#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugin/lucene/bm25/posting_ranges.h"
#include "plugin/lucene/bm25/ranked_contributions.h"

namespace relucent::bm25 {

/// The decoded postings of a term that few documents of a segment have.
struct ShortPostings {
  /// A list is short if it has no more postings than the segment has documents, divided by this.
  static constexpr std::int32_t kDocumentsPerPosting = 1024;
  static bool holds(std::int32_t document_frequency, std::int32_t documents) {
    return document_frequency <= documents / kDocumentsPerPosting;
  }

  std::vector<std::int32_t> documents;  ///< ascending
  std::vector<float> products;          ///< frequency · length factor, by document
  std::vector<std::uint8_t> codes;      ///< PostingRanges::code_of() of the contributions
  /// For every kRangesPerEntry ranges of PostingRanges, the first document that is in them or behind them.
  std::vector<std::uint32_t> begin;
  RankedContributions ranked{};

  static constexpr std::size_t kRangesPerEntry = kDocumentsPerPosting / PostingRanges::kRange;

  static std::size_t range_of(std::int32_t document) {
    return static_cast<std::size_t>(document / PostingRanges::kRange);
  }
  /// The first document that is in the range or behind it, as a place in `documents`.
  std::size_t find(std::size_t range) const {
    std::size_t i = begin[range / kRangesPerEntry];
    while (i < documents.size() && range_of(documents[i]) < range) ++i;
    return i;
  }
  /// Calls use(place in `documents`) for the documents of a range, ascending.
  template <typename Use>
  void each_of(std::size_t range, Use&& use) const {
    for (std::size_t i = find(range); i < documents.size() && range_of(documents[i]) == range; ++i) use(i);
  }

  std::size_t memory() const {
    return sizeof(ShortPostings) + documents.size() * kBytesPerPosting + begin.size() * sizeof(begin[0]);
  }
  static std::size_t expected_memory(std::size_t postings, std::size_t documents) {
    return postings * kBytesPerPosting + documents / kDocumentsPerPosting * sizeof(begin[0]);
  }

 private:
  static constexpr std::size_t kBytesPerPosting = sizeof(documents[0]) + sizeof(products[0]) + sizeof(codes[0]);
};

/// Reads the whole list. `lengths` has one byte per document; null: every length is 1.
ShortPostings read_short_postings(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors);

}  // namespace relucent::bm25
