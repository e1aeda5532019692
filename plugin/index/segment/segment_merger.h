#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index/segment/segment.h"

namespace relucent::segment {

/// Writes `sources`, segments of ours in order and without deletions, as one segment `name`. Each source is compared
/// with its checksums on the way, so that damage does not go on. Throws Error `io` and `invalid_data`; Cancelled soon
/// after `cancelled` is set.
Segment merge_segments(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                       const std::vector<Segment>& sources, const std::atomic<bool>& cancelled);

}  // namespace relucent::segment
