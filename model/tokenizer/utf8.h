#pragma once

#include <cstdint>
#include <string_view>

namespace relucent {

inline constexpr char32_t replacement_character = 0xFFFD;

/// The code point at `text[at]`, which must be inside `text`; moves `at` behind it. Bytes that are not UTF-8
/// give U+FFFD, one for each maximal subpart (Unicode 15, section 3.9, as WHATWG and Python's "replace" do).
inline char32_t next_code_point(std::string_view text, std::size_t& at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(at++);
  if (first < 0x80) return first;
  if (first < 0xC2 || first > 0xF4) return replacement_character;
  const int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  char32_t value = first & (0x3FU >> more);
  // The second byte's range keeps out overlong forms, surrogates and what is above U+10FFFF.
  std::uint8_t least = 0x80, most = 0xBF;
  if (first == 0xE0) least = 0xA0;
  if (first == 0xED) most = 0x9F;
  if (first == 0xF0) least = 0x90;
  if (first == 0xF4) most = 0x8F;
  for (int i = 0; i < more; ++i) {
    if (at == text.size() || byte(at) < least || byte(at) > most) return replacement_character;
    value = value << 6 | (byte(at++) & 0x3FU);
    least = 0x80;
    most = 0xBF;
  }
  return value;
}

/// Writes `value`, a code point that is no surrogate, at `out` (room for 4 bytes); returns the end.
inline char* append_utf8(char32_t value, char* out) noexcept {
  const auto put = [&](char32_t bits) { *out++ = static_cast<char>(bits); };
  const auto tail = [&](int shift) { put(0x80 | (value >> shift & 0x3F)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6), tail(0);
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12), tail(6), tail(0);
  } else {
    put(0xF0 | value >> 18), tail(12), tail(6), tail(0);
  }
  return out;
}

}  // namespace relucent
