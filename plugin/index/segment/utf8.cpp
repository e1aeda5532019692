#include "index/segment/utf8.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

namespace relucent::segment {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD", kLast = "\xEF\xBF\xBF";

}  // namespace

std::string_view well_formed(std::string_view text, std::string& room) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::size_t copied = 0;
  bool changed = false;
  for (std::size_t i = 0; i < text.size();) {
    if (bytes[i] < 0x80) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    UChar32 c;
    U8_NEXT(bytes, i, text.size(), c);
    if (c >= 0) continue;
    if (!changed) room.clear();
    changed = true;
    room.append(text.substr(copied, first - copied)).append(kReplacement);
    copied = i;
  }
  if (!changed) return text;
  room.append(text.substr(copied));
  return room;
}

std::string_view well_formed_id(std::string_view id, std::string& room) {
  const std::string_view text = well_formed(id, room);
  if (text.find(kLast) == std::string_view::npos) return text;
  std::string copy(text);
  for (std::size_t at = 0; (at = copy.find(kLast, at)) != std::string::npos; at += kReplacement.size()) {
    copy.replace(at, kLast.size(), kReplacement);
  }
  room = std::move(copy);
  return room;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace relucent::segment
