#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "plugin/index_format/records/segment_records.h"

namespace relucent {

/// A segment of an open index.
struct IndexSegment {
  SegmentIdentity identity;
  Lucene::IndexReaderPtr reader;
  std::int32_t first = 0;  ///< number of its first document in the index
};

/// An index's folder and its segments, in document order.
struct IndexSegments {
  std::filesystem::path folder;
  std::vector<IndexSegment> segments;
};

/// Empty for a reader that is not over the Lucene++ segments of one folder. Reads at most 2 MiB per segment, of the
/// files with its stored fields. Throws Error `io`, and whatever Lucene++ throws.
IndexSegments index_segments(const Lucene::IndexReaderPtr& reader);
std::vector<SegmentIdentity> identities_of(const IndexSegments& index);

}  // namespace relucent
