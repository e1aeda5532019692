#include "index_tools/readers/utf8.h"

#include <cstdint>
#include <cstring>

namespace relucent::index_tools {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t i) noexcept { return static_cast<unsigned char>(bytes[i]); }

struct Lead {
  std::size_t length;         // 0: not a lead byte
  unsigned second_min, second_max;  // the second byte's range rules out overlong forms and surrogates
};

Lead lead_of(unsigned byte) noexcept {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Bytes of the sequence at the start that are right so far, and whether they are a whole sequence.
struct Prefix {
  std::size_t bytes;
  bool whole;
};

Prefix longest_prefix(std::string_view bytes) noexcept {
  const Lead lead = lead_of(byte_at(bytes, 0));
  if (lead.length <= 1) return {1, lead.length == 1};
  std::size_t good = 1;
  while (good < lead.length && good < bytes.size()) {
    const unsigned next = byte_at(bytes, good);
    const unsigned low = good == 1 ? lead.second_min : 0x80;
    const unsigned high = good == 1 ? lead.second_max : 0xBF;
    if (next < low || next > high) break;
    ++good;
  }
  return {good, good == lead.length};
}

std::size_t ascii_run(std::string_view text, std::size_t from) noexcept {
  std::size_t i = from;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, text.data() + i, sizeof eight);
    if ((eight & 0x8080808080808080ULL) != 0) break;
  }
  while (i < text.size() && byte_at(text, i) < 0x80) ++i;
  return i;
}

std::size_t repair(std::string& text, std::string_view replacement) {
  std::size_t i = 0;
  while ((i = ascii_run(text, i)) < text.size()) {
    const Prefix prefix = longest_prefix(std::string_view(text).substr(i));
    if (!prefix.whole) break;
    i += prefix.bytes;
  }
  if (i >= text.size()) return 0;

  std::string repaired(text, 0, i);
  std::size_t replaced = 0;
  while (i < text.size()) {
    const Prefix prefix = longest_prefix(std::string_view(text).substr(i));
    if (prefix.whole) {
      repaired.append(text, i, prefix.bytes);
    } else {
      repaired += replacement;
      ++replaced;
    }
    i += prefix.bytes;
  }
  text = std::move(repaired);
  return replaced;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view bytes) noexcept {
  if (bytes.empty()) return 0;
  const Prefix prefix = longest_prefix(bytes);
  return prefix.whole ? prefix.bytes : 0;
}

std::size_t replace_malformed_utf8(std::string& text) { return repair(text, "\xEF\xBF\xBD"); }

std::size_t drop_malformed_utf8(std::string& text) { return repair(text, ""); }

}  // namespace relucent::index_tools
