#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

/// Small helpers for human-readable text. All functions are thread-safe.
namespace relucent {

/// Applies `projection` to each part and concatenates the results (strings, views or integers), separated by
/// `separator`.
template <std::ranges::input_range Range, typename Projection = std::identity>
std::string join(Range&& parts, std::string_view separator = ", ", Projection projection = {}) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    fmt::format_to(std::back_inserter(text), "{}{}", first ? std::string_view() : separator,
                   std::invoke(projection, part));
    first = false;
  }
  return text;
}

inline constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

/// The text without leading and trailing `white`.
std::string_view trim(std::string_view text, std::string_view white = kWhiteSpace) noexcept;

/// The closest name to `wrong`, for "did you mean": at most a third of its characters (at least one) are missing,
/// added, changed or swapped with a neighbour. Empty if no name is that close.
std::string closest_name(std::string_view wrong, const std::vector<std::string>& names);

/// `did you mean "NAME"? ` with closest_name(), the beginning of a remedy; empty if no name is that close.
std::string suggest_name(std::string_view wrong, const std::vector<std::string>& names);

/// Escapes `text` for XML and HTML content and double-quoted attributes: &, <, > and " become references, control
/// characters become U+FFFD.
std::string escape_xml(std::string_view text);

/// "512 bytes", "3.4 MB": powers of 1,000.
std::string format_bytes(std::uint64_t bytes);

}  // namespace relucent
