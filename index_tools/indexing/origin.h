#pragma once

#include <filesystem>

namespace relucent::index_tools {

/// Whose work an index is.
enum class Origin {
  none,     ///< there is no index
  own,      ///< `relucent index` wrote it, and no other program has changed its segments since
  other,    ///< another program's
  unknown,  ///< too damaged to tell
};

/// By the manifest where it can be read, so that a damaged list of segments is not looked at; else by the lists of
/// segments. Throws Error `io` for a folder that cannot be read.
Origin origin_of(const std::filesystem::path& index);

}  // namespace relucent::index_tools
