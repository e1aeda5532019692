#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index_format/segment/segment.h"

namespace relucent::segment {

/// Merges `sources`, our own segments in order and without deletions, into one segment `name`. Compares each source
/// with its checksums, so that damage does not spread. Throws Error `io` and `invalid_data`; Cancelled soon after
/// `cancelled` is set.
Segment merge_segments(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                       const std::vector<Segment>& sources, const std::atomic<bool>& cancelled);

}  // namespace relucent::segment
