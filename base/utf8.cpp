#include "base/utf8.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace relucent {
namespace {

/// The first byte at or after `from` that is not ASCII, or text.size().
std::size_t skip_ascii(std::string_view text, std::size_t from) noexcept {
  std::size_t i = from;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, text.data() + i, sizeof eight);
    if ((eight & 0x8080808080808080ULL) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i;
}

/// The first malformed byte at or after `from`, or text.size().
std::size_t find_malformed(std::string_view text, std::size_t from) noexcept {
  for (std::size_t i = from; (i = skip_ascii(text, i)) < text.size();) {
    const DecodedCodePoint decoded = decode_utf8(text, i);
    if (!decoded.well_formed) return i;
    i += decoded.bytes;
  }
  return text.size();
}

/// Writes `text`, whose first malformed byte is at `malformed`, to `out` with `substitute` for each malformed subpart.
std::size_t repair(std::string_view text, std::size_t malformed, std::string_view substitute, std::string& out) {
  std::size_t count = 0, copied = 0;
  out.clear();
  for (; malformed < text.size(); malformed = find_malformed(text, copied)) {
    out.append(text.substr(copied, malformed - copied)).append(substitute);
    copied = malformed + decode_utf8(text, malformed).bytes;
    ++count;
  }
  out.append(text.substr(copied));
  return count;
}

std::size_t repair_in_place(std::string& text, std::string_view substitute) {
  const std::size_t malformed = find_malformed(text, 0);
  if (malformed == text.size()) return 0;
  std::string repaired;
  repaired.reserve(text.size());
  const std::size_t count = repair(text, malformed, substitute, repaired);
  text = std::move(repaired);
  return count;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const DecodedCodePoint decoded = decode_utf8(text, 0);
  return decoded.well_formed ? decoded.bytes : 0;
}

bool is_well_formed_utf8(std::string_view text) noexcept { return find_malformed(text, 0) == text.size(); }

std::size_t count_code_points(std::string_view text) noexcept {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_utf8_continuation));
}

std::size_t bytes_of_code_points(std::string_view text, std::size_t count) noexcept {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if (!is_utf8_continuation(text[bytes]) && count-- == 0) break;
  }
  return bytes;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) noexcept {
  if (bytes >= text.size()) return text;
  while (bytes > 0 && is_utf8_continuation(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

std::size_t replace_malformed_utf8(std::string& text) { return repair_in_place(text, kReplacementUtf8); }

std::size_t drop_malformed_utf8(std::string& text) { return repair_in_place(text, {}); }

std::string_view well_formed_utf8(std::string_view text, std::string& storage) {
  const std::size_t malformed = find_malformed(text, 0);
  if (malformed == text.size()) return text;
  repair(text, malformed, kReplacementUtf8, storage);
  return storage;
}

}  // namespace relucent
