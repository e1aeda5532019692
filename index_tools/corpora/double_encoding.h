#pragma once

#include <string>

namespace relucent::index_tools {

/// Undoes the double encoding of some MS MARCO passages: a run of four, then of three, then of two
/// characters of U+0080..U+00FF whose code points, read as bytes, are the UTF-8 form of one character becomes that
/// character. Everything else stays as it is. `text` is well-formed UTF-8. The result is ir_datasets' text of
/// msmarco-passage.
void undo_double_encoding(std::string& text);

}  // namespace relucent::index_tools
