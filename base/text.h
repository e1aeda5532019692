#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

/// Small helpers for text that people read. All functions are thread-safe.
namespace relucent {

/// The parts, strings, views or whole numbers, one after the other with `separator` between them.
template <std::ranges::input_range Range>
std::string join(Range&& parts, std::string_view separator = ", ") {
  std::string result;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) result += separator;
    first = false;
    if constexpr (std::integral<std::ranges::range_value_t<Range>>) {
      result += std::to_string(part);
    } else {
      result += part;
    }
  }
  return result;
}

inline constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

/// The text without `white` on both sides.
std::string_view trim(std::string_view text, std::string_view white = kWhiteSpace) noexcept;

/// The name that `wrong` was probably meant to be, for "did you mean": fewer than a third of its characters (one at
/// least) are missing, added, changed or swapped with a neighbour. Empty if no name is that close.
std::string closest_name(std::string_view wrong, const std::vector<std::string>& names);

/// `text` for XML and HTML content and double-quoted attributes: &, <, > and " as references, control characters as
/// U+FFFD.
std::string escape_xml(std::string_view text);

/// "512 bytes", "3.4 MB": powers of 1,000.
std::string format_bytes(std::uint64_t bytes);

}  // namespace relucent
