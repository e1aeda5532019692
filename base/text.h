#pragma once

#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

/// Small helpers for human-readable text. All functions are thread-safe.
namespace relucent {

/// Concatenates the parts (strings, views or integers) with `separator` between them.
template <std::ranges::input_range Range>
std::string join(Range&& parts, std::string_view separator = ", ") {
  return fmt::format("{}", fmt::join(parts, separator));
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
