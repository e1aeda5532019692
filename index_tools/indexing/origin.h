#pragma once

#include <filesystem>

namespace relucent::index_tools {

/// Which program wrote an index.
enum class Origin {
  none,     ///< there is no index
  own,      ///< `relucent index` wrote it, and no other program has changed its segments since
  other,    ///< another program wrote or changed it
  unknown,  ///< too damaged to tell
};

/// Decides by the manifest if it is readable, so that a damaged segments file does not matter; else by the segments
/// files. Throws Error `io` for an unreadable folder.
Origin origin_of(const std::filesystem::path& index);

}  // namespace relucent::index_tools
