#pragma once

#include <Searcher.h>

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relucent/stop.h"

namespace relucent {

/// A stored field, and what of it is wanted.
struct WantedField {
  enum class Values {
    first_text,  ///< the first value as UTF-8
    all_texts,   ///< all values as UTF-8, joined as stored_text() joins them
    first_bytes  ///< the first binary value as it is
  };
  Lucene::String name;
  Values values = Values::first_text;
  /// Bytes of it to read at most; texts end at a whole character. doc() of another searcher gives all.
  std::size_t at_most = std::numeric_limits<std::size_t>::max();
};

/// Stored fields of a searcher's documents. Where the searcher is an IndexSearcher (or one of ours) over Lucene 3
/// segments they are read in pieces, with a look at the clock at each: a document may be as long as a book shelf.
/// Otherwise the searcher's doc() reads them whole. Belongs to one thread.
class StoredFields {
 public:
  explicit StoredFields(const Lucene::SearcherPtr& searcher);

  /// One entry per wanted field; nothing where the document has no such field (or, of first_bytes, no binary value).
  /// Throws Error: `deadline` or `interrupted` when `stop` is due, `invalid_data` where the file cannot be right; and
  /// what Lucene++ throws.
  std::vector<std::optional<std::string>> read(std::int32_t document, std::span<const WantedField> wanted,
                                               const StopSignal& stop) const;

 private:
  struct Segment {
    Lucene::SegmentReaderPtr reader;
    std::int32_t first = 0;  ///< number of its first document
  };
  const Segment* segment_of(std::int32_t document) const;

  Lucene::SearcherPtr searcher_;
  std::vector<Segment> segments_;  ///< empty where Lucene++ has to read
};

}  // namespace relucent
