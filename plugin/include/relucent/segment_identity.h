#pragma once

#include <cstdint>
#include <string>

namespace relucent {

/// Which documents a file next to an index describes: those of one segment. Deleting documents changes nothing of this.
struct SegmentIdentity {
  std::string name;             ///< "_3"
  std::uint32_t documents = 0;  ///< including deleted ones; fewer than 2^31
  std::uint64_t contents = 0;   ///< a hash of the stored fields' files

  friend bool operator==(const SegmentIdentity&, const SegmentIdentity&) = default;
};

}  // namespace relucent
