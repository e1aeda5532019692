#pragma once

#include <IndexReader.h>

#include <cstdint>
#include <string>
#include <vector>

#include "relucent/collection_statistics.h"

namespace relucent::bm25 {

/// The data that BM25 needs for one field in addition to its postings.
struct FieldLengths {
  FieldStatistics statistics;
  /// One length byte per document, for each leaf reader in order.
  std::vector<std::vector<std::uint8_t>> leaves;
};

/// The readers of single segments, in document order.
std::vector<Lucene::IndexReaderPtr> leaf_readers(const Lucene::IndexReaderPtr& reader);

/// Counts exact lengths, including those of deleted documents, in one pass over all postings of the field; 36 million
/// postings take about a second. Works for every index, regardless of its writer and its norms.
FieldLengths count_lengths(const std::vector<Lucene::IndexReaderPtr>& leaves, const Lucene::String& field);

/// Names and sizes of the segments, in order; empty if a leaf is not a segment. An index never reuses a segment name,
/// so data recorded for the same list stays valid even if documents are deleted.
std::string segments_identity(const std::vector<Lucene::IndexReaderPtr>& leaves);

}  // namespace relucent::bm25
