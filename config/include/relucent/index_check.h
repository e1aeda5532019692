#pragma once

namespace relucent {

/// What is checked when an index is opened for searching: `[index] verify`.
enum class IndexCheck {
  none,       ///< that the files are there, with the sizes that are recorded
  structure,  ///< and nothing is used that is not as it was written or, in another program's index, cannot be right
  checksums,  ///< and every byte of every file, at once
};

}  // namespace relucent
