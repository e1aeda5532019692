#pragma once

namespace relucent {

/// How much to check when an index is opened for searching: `[index] verify`. Each level includes the one before.
enum class IndexCheck {
  none,       ///< the files exist with their recorded sizes; only for indexes of trusted authors
  structure,  ///< damaged data is never used: blocks are checked against their checksums when first read, and segments
              ///< for an impossible structure when first opened on this machine
  checksums,  ///< every byte of every file, at opening
};

}  // namespace relucent
