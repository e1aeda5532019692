#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "relucent/error.h"

namespace relucent {

/// How much of a text is tokenized at a time, in bytes.
inline constexpr std::size_t kUsualBlock = 4096, kMaxBlock = std::size_t{1} << 20;

/// The first place after `at` + `block` bytes where a text may be cut in two that are tokenized one by one: between
/// an ASCII letter or digit and a space that another one follows. text.size() if there is none.
inline std::size_t next_cut(std::string_view text, std::size_t at, std::size_t block = kUsualBlock) noexcept {
  const auto is_word = [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
  };
  if (text.size() - at <= block) return text.size();
  for (std::size_t cut = at + block; cut + 1 < text.size(); ++cut) {
    if (text[cut] == ' ' && is_word(text[cut - 1]) && is_word(text[cut + 1])) return cut;
  }
  return text.size();
}

/// The same for a text that may not be cut there: its end, or, to bound the memory, after at most `most` bytes.
inline std::size_t next_forced_cut(std::string_view text, std::size_t at, std::size_t most = kMaxBlock) noexcept {
  if (text.size() - at <= most) return text.size();
  std::size_t cut = at + most;
  while (cut > at + 1 && is_utf8_continuation(text[cut])) --cut;
  return cut;
}

/// How many ids there may be if `limit` are added to `present`.
inline std::size_t most_ids(std::size_t present, std::size_t limit) noexcept {
  return present + std::min(limit, std::numeric_limits<std::size_t>::max() - present);
}

/// Throws Error `unsupported` if a tokenizer's components have made a text of `before` bytes longer than 4 MiB and
/// than 16 times as many, as replacements of replacements can.
inline void check_growth(std::size_t before, const std::string& text) {
  if (text.size() <= std::max(std::size_t{4} << 20, 16 * before)) return;
  throw Error(ErrorKind::unsupported, "tokenizer.json", "makes a text many times longer",
              "use a checkpoint with another tokenizer");
}

}  // namespace relucent
