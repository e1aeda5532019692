#pragma once

#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace relucent {

/// The first place after `at` + a few kilobytes where a text may be cut in two that are tokenized one by one: between
/// an ASCII letter or digit and a space that another one follows. text.size() if there is none.
inline std::size_t next_cut(std::string_view text, std::size_t at) noexcept {
  constexpr std::size_t kBlock = 4096;
  const auto is_word = [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
  };
  if (text.size() - at <= kBlock) return text.size();
  for (std::size_t cut = at + kBlock; cut + 1 < text.size(); ++cut) {
    if (text[cut] == ' ' && is_word(text[cut - 1]) && is_word(text[cut + 1])) return cut;
  }
  return text.size();
}

/// The same for a text that may not be cut there: its end, or, to bound the memory, after at most a mebibyte.
inline std::size_t next_forced_cut(std::string_view text, std::size_t at) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  if (text.size() - at <= kMost) return text.size();
  std::size_t cut = at + kMost;
  while (cut > at + 1 && is_utf8_continuation(text[cut])) --cut;
  return cut;
}

}  // namespace relucent
