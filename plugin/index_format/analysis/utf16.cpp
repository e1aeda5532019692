#include "plugin/index_format/analysis/utf16.h"

#include <unicode/utf16.h>

#include "base/utf8.h"

namespace relucent::analysis {
namespace {

template <typename Place>
void decode(std::string_view utf8, std::u16string& units, Place&& place) {
  units.reserve(units.size() + utf8.size());
  for (std::size_t i = 0; i < utf8.size();) {
    const std::size_t first = i;
    const char32_t c = next_code_point(utf8, i);
    place(first);
    if (c <= 0xFFFF) {
      units.push_back(static_cast<char16_t>(c));
    } else {
      units.push_back(U16_LEAD(c));
      units.push_back(U16_TRAIL(c));
      place(first);
    }
  }
}

}  // namespace

void append_utf16(std::string_view utf8, std::u16string& units) {
  decode(utf8, units, [](std::size_t) {});
}

void append_utf16(std::string_view utf8, std::u16string& units, std::vector<std::uint32_t>& byte_of) {
  decode(utf8, units, [&](std::size_t byte) { byte_of.push_back(static_cast<std::uint32_t>(byte)); });
  byte_of.push_back(static_cast<std::uint32_t>(utf8.size()));
}

void append_utf8(std::u16string_view units, std::string& utf8) {
  for (std::size_t i = 0; i < units.size();) {
    UChar32 c;
    U16_NEXT(units.data(), i, units.size(), c);
    relucent::append_utf8(static_cast<char32_t>(c), utf8);  // a lone surrogate becomes U+FFFD
  }
}

}  // namespace relucent::analysis
