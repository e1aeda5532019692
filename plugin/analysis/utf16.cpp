#include "analysis/utf16.h"

#include <unicode/utf16.h>
#include <unicode/utf8.h>

namespace relucent::analysis {
namespace {

constexpr UChar32 kReplacement = 0xFFFD;

template <typename Place>
void decode(std::string_view utf8, std::u16string& units, Place&& place) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf8.data());
  const std::size_t size = utf8.size();
  units.reserve(units.size() + size);
  for (std::size_t i = 0; i < size;) {
    const std::size_t first = i;
    UChar32 c = bytes[i];
    if (c < 0x80) {
      ++i;
    } else {
      U8_NEXT(bytes, i, size, c);
      if (c < 0) c = kReplacement;
    }
    if (c <= 0xFFFF) {
      units.push_back(static_cast<char16_t>(c));
      place(first);
    } else {
      units.push_back(U16_LEAD(c));
      units.push_back(U16_TRAIL(c));
      place(first);
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
    if (c < 0x80) {
      utf8.push_back(static_cast<char>(c));
      continue;
    }
    if (U_IS_SURROGATE(c)) c = kReplacement;
    char bytes[4];
    std::size_t length = 0;
    U8_APPEND_UNSAFE(bytes, length, c);
    utf8.append(bytes, length);
  }
}

}  // namespace relucent::analysis
