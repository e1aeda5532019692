#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index_format/segment/segment.h"

namespace relucent::segment {

/// The deleted documents that a merge has left out.
struct Dropped {
  std::int64_t documents = 0;
  std::vector<FieldStatistics> counts;  ///< as in Segment
};

/// Merges `sources`, our own segments in order, into one segment `name`, without their deleted documents, which it adds
/// to `dropped`. Compares each source with its checksums, so that damage does not spread. Throws Error `io` and
/// `invalid_data`; Cancelled soon after `cancelled` is set.
Segment merge_segments(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                       const std::vector<Segment>& sources, const std::atomic<bool>& cancelled,
                       Dropped* dropped = nullptr);

}  // namespace relucent::segment
