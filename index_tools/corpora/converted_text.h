#pragma once

#include <string>
#include <string_view>

namespace relucent::index_tools {

/// A file's text, or why there is none.
struct ConvertedText {
  std::string text;          ///< UTF-8, but not necessarily well-formed
  std::string_view problem;  ///< in a few words, the same for all files with the same problem; empty: there is none
};

}  // namespace relucent::index_tools
