#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relucent::index_tools {

/// Length in bytes (1 to 4) of the well-formed UTF-8 sequence at the start of `bytes`, or 0 where there is none: no
/// overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t utf8_sequence_length(std::string_view bytes) noexcept;

/// Replaces each maximal malformed part by U+FFFD, as the Unicode standard recommends (section 3.9). Returns how many
/// were replaced; a well-formed text is left untouched.
std::size_t replace_malformed_utf8(std::string& text);

/// The same with nothing in their place.
std::size_t drop_malformed_utf8(std::string& text);

}  // namespace relucent::index_tools
