#pragma once

#include <Searcher.h>

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relucent/stop.h"

namespace relucent {

/// A stored field, and which of its values are wanted.
struct WantedField {
  enum class Values {
    first_text,  ///< the first value as UTF-8
    all_texts,   ///< all values as UTF-8, joined as stored_text() joins them
    first_bytes  ///< the first binary value, unchanged
  };
  Lucene::String name;
  Values values = Values::first_text;
  /// Bytes of it to read at most; texts end at a whole character. A searcher's doc() gives all.
  std::size_t at_most = std::numeric_limits<std::size_t>::max();
};

/// Stored fields of an index's or a searcher's documents. Use from one thread only.
class StoredFields {
 public:
  /// Reads Lucene 3 segments in pieces, with a check of the clock at each piece, since documents may be very long; and
  /// other formats whole.
  explicit StoredFields(const Lucene::IndexReaderPtr& reader);
  /// Calls the searcher's doc(), which reads documents whole: for searchers that override it or have several readers.
  explicit StoredFields(const Lucene::SearcherPtr& searcher);

  /// One entry per wanted field; nullopt if the document has no such field (or, for first_bytes, no binary value).
  /// Throws Error: `deadline` or `interrupted` when `stop` is due, `invalid_data` if the file is damaged; and whatever
  /// Lucene++ throws.
  std::vector<std::optional<std::string>> read(std::int32_t document, std::span<const WantedField> wanted,
                                               const StopSignal& stop) const;

 private:
  struct Segment {
    Lucene::SegmentReaderPtr reader;
    std::int32_t first = 0;  ///< number of its first document
  };
  const Segment* segment_of(std::int32_t document) const;

  std::function<Lucene::DocumentPtr(std::int32_t, const Lucene::FieldSelectorPtr&)> read_whole_;
  std::vector<Segment> segments_;  ///< empty if Lucene++ must read
};

}  // namespace relucent
