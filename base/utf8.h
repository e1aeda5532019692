#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The project's only UTF-8 decoder. Malformed input is treated as in Unicode 15, section 3.9, WHATWG and Python's
/// "replace": each maximal subpart of an ill-formed sequence counts once. All functions are thread-safe.
namespace relucent {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

/// The code point, or malformed sequence, at a position of a text.
struct DecodedCodePoint {
  char32_t value;      ///< U+FFFD if malformed
  std::uint8_t bytes;  ///< 1 to 4: of the code point, or of the malformed subpart
  bool well_formed;
};

/// Decodes the code point at byte `at`, which must be inside `text`.
inline DecodedCodePoint decode_utf8(std::string_view text, std::size_t at) noexcept {
  const std::size_t begin = at;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto malformed = [&] {
    return DecodedCodePoint{kReplacementCharacter, static_cast<std::uint8_t>(at - begin), false};
  };
  const std::uint8_t first = byte(at++);
  if (first < 0x80) return {first, 1, true};
  if (first < 0xC2 || first > 0xF4) return malformed();
  const int continuations = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
  char32_t value = first & (0x3FU >> continuations);
  // The second byte's range rules out overlong forms, surrogates and everything above U+10FFFF.
  std::uint8_t low = 0x80, high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (int i = 0; i < continuations; ++i) {
    if (at == text.size() || byte(at) < low || byte(at) > high) return malformed();
    value = value << 6 | (byte(at++) & 0x3FU);
    low = 0x80;
    high = 0xBF;
  }
  return {value, static_cast<std::uint8_t>(at - begin), true};
}

/// The code point at `at`, U+FFFD if malformed; moves `at` past it.
inline char32_t next_code_point(std::string_view text, std::size_t& at) noexcept {
  const DecodedCodePoint decoded = decode_utf8(text, at);
  at += decoded.bytes;
  return decoded.value;
}

/// Writes `value`, a scalar value (not a surrogate), to `out`, which must have room for 4 bytes; returns the end.
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

/// Appends `value`, or U+FFFD if it is not a scalar value (a surrogate or a number above U+10FFFF).
inline void append_utf8(char32_t value, std::string& out) {
  if (value < 0x80) return out.push_back(static_cast<char>(value));
  const bool scalar = value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  char bytes[4];
  out.append(bytes, append_utf8(scalar ? value : kReplacementCharacter, bytes));
}

/// Whether `byte` continues a UTF-8 sequence instead of starting one.
inline bool is_utf8_continuation(char byte) noexcept { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

/// The length in bytes (1 to 4) of the well-formed sequence at the start of `text`; 0 if it is empty or malformed
/// there.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

bool is_well_formed_utf8(std::string_view text) noexcept;

/// Code points of well-formed UTF-8.
std::size_t count_code_points(std::string_view text) noexcept;

/// Bytes of the first `count` code points of well-formed UTF-8; text.size() if there are no more than that.
std::size_t bytes_of_code_points(std::string_view text, std::size_t count) noexcept;

/// The longest prefix of well-formed UTF-8 with at most `bytes` bytes that does not split a code point.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes) noexcept;

/// Replaces each malformed subpart with U+FFFD and returns the number of replacements.
std::size_t replace_malformed_utf8(std::string& text);
/// Removes each malformed subpart and returns their number.
std::size_t drop_malformed_utf8(std::string& text);

/// `text` itself if it is well-formed, otherwise a copy in `storage` with each malformed subpart replaced with U+FFFD.
std::string_view well_formed_utf8(std::string_view text, std::string& storage);

}  // namespace relucent
