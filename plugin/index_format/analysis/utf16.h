#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::analysis {

/// Appends `utf8` to `units` as UTF-16; each malformed sequence (its maximal valid part) becomes one U+FFFD.
void append_utf16(std::string_view utf8, std::u16string& units);

/// Also records the origin of each unit: byte_of[i] is the first byte of the code point that unit i belongs to
/// (both halves of a pair have the same), byte_of[units.size()] is utf8.size(). Texts up to 4 GiB.
void append_utf16(std::string_view utf8, std::u16string& units, std::vector<std::uint32_t>& byte_of);

/// Appends well-formed UTF-16 as UTF-8; a lone surrogate becomes U+FFFD.
void append_utf8(std::u16string_view units, std::string& utf8);

}  // namespace relucent::analysis
