#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace relucent {

/// Whether the text is empty or only white space.
inline bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(kWhiteSpace) == std::string_view::npos;
}

/// With A to Z in lower case; other bytes as they are.
inline std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace relucent
