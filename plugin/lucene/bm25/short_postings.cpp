#include "plugin/lucene/bm25/short_postings.h"

namespace relucent::bm25 {

ShortPostings read_short_postings(const Lucene::SegmentReaderPtr& segment, const Lucene::TermPtr& term,
                                  const std::uint8_t* lengths, const std::array<float, 256>& factors) {
  ShortPostings found;
  Postings postings(segment);
  postings.seek(term);
  const auto count = static_cast<std::size_t>(postings.document_frequency());
  found.documents.reserve(count);
  found.products.reserve(count);
  found.codes.reserve(count);
  LargestContributions largest;
  while (postings.next_block()) {
    const auto documents = postings.documents();
    if (lengths != nullptr) {
      for (const std::int32_t document : documents) __builtin_prefetch(lengths + document);
    }
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const std::uint8_t length = lengths == nullptr ? std::uint8_t{1} : lengths[documents[i]];
      const float product = static_cast<float>(postings.frequencies()[i]) * factors[length];
      found.documents.push_back(documents[i]);
      found.products.push_back(product);
      found.codes.push_back(PostingRanges::code_of(1 - 1 / (1 + product)));
      largest.add(product);
    }
  }
  found.ranked = largest.ranked();
  const std::size_t entries = ShortPostings::range_of(segment->maxDoc()) / ShortPostings::kRangesPerEntry + 1;
  found.begin.reserve(entries);
  for (std::uint32_t i = 0; found.begin.size() < entries; found.begin.push_back(i)) {
    const std::size_t range = found.begin.size() * ShortPostings::kRangesPerEntry;
    while (i < found.documents.size() && ShortPostings::range_of(found.documents[i]) < range) ++i;
  }
  return found;
}

}  // namespace relucent::bm25
