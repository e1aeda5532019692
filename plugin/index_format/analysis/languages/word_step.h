#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace relucent::analysis {

/// Changes a word on its way to a term, counting in UTF-16 units as Java does; false drops it (a stop word). Used from
/// one thread at a time.
using WordStep = std::function<bool(std::u16string& word)>;

inline bool ends_with_any(std::u16string_view word, std::initializer_list<std::u16string_view> endings) {
  for (const std::u16string_view ending : endings) {
    if (word.ends_with(ending)) return true;
  }
  return false;
}

/// Replaces each unit that occurs in `from` by the one at its place in `to`.
inline void replace_units(std::u16string& word, std::u16string_view from, std::u16string_view to) {
  for (char16_t& unit : word) {
    if (unit < 0x80) continue;
    const std::size_t place = from.find(unit);
    if (place != std::u16string_view::npos) unit = to[place];
  }
}

/// Removes each unit that occurs in `unwanted`.
inline void remove_units(std::u16string& word, std::u16string_view unwanted) {
  std::erase_if(word, [unwanted](char16_t unit) { return unwanted.find(unit) != std::u16string_view::npos; });
}

}  // namespace relucent::analysis
