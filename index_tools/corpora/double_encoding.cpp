#include "index_tools/corpora/double_encoding.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace relucent::index_tools {
namespace {

// The UTF-8 form of U+0080..U+00FF is C2 or C3 and one more byte, which together hold the code point's byte.
bool latin1_byte(std::string_view text, std::size_t at, char& byte) noexcept {
  if (at + 1 >= text.size()) return false;
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead != 0xC2 && lead != 0xC3) return false;
  byte = static_cast<char>((lead == 0xC3 ? 0x40 : 0) | static_cast<unsigned char>(text[at + 1]));
  return true;
}

void undo_width(std::string& text, std::size_t width) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = text.find_first_of("\xC2\xC3"); at != std::string::npos;) {
    std::array<char, 4> bytes{};
    std::size_t found = 0;
    while (found < width && latin1_byte(text, at + 2 * found, bytes[found])) ++found;
    std::size_t next = at + 2;
    if (found == width && utf8_sequence_length({bytes.data(), width}) == width) {
      out.append(text, copied, at - copied).append(bytes.data(), width);
      next = copied = at + 2 * width;
    }
    at = text.find_first_of("\xC2\xC3", next);
  }
  if (copied == 0) return;
  out.append(text, copied);
  text = std::move(out);
}

}  // namespace

void undo_double_encoding(std::string& text) {
  // Most texts have no such character, and this check is several times faster.
  if (text.find('\xC2') == std::string::npos && text.find('\xC3') == std::string::npos) return;
  for (const std::size_t width : {4, 3, 2}) undo_width(text, width);
}

}  // namespace relucent::index_tools
