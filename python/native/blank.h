#pragma once

#include <string_view>

namespace relucent::python {

/// Whether a text is white space alone, or empty.
inline bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

}  // namespace relucent::python
