#pragma once

#include <IndexReader.h>

#include <cstdint>
#include <string>
#include <vector>

#include "relucent/bm25.h"

namespace relucent::bm25 {

/// The data that BM25 needs for one field in addition to its postings.
struct FieldLengths {
  FieldStatistics statistics;
  /// One length byte per document, for each leaf reader in order.
  std::vector<std::vector<std::uint8_t>> leaves;
};

/// The readers of single segments, in document order.
std::vector<Lucene::IndexReaderPtr> leaf_readers(const Lucene::IndexReaderPtr& reader);

/// Exact lengths by one sweep over all postings of the field, about a second for 36 million; deleted documents
/// count. This works for every index, whoever wrote it and with whatever norms.
FieldLengths count_lengths(const std::vector<Lucene::IndexReaderPtr>& leaves, const Lucene::String& field);

/// Names and sizes of the segments, in order. Segment names are never used twice in an index, so what was recorded
/// for the same list still holds, whatever was deleted since.
std::string segments_identity(const std::vector<Lucene::IndexReaderPtr>& leaves);

}  // namespace relucent::bm25
