#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace relucent {

/// How many levels of arrays, objects and tables a JSON or TOML text may have. Parsers, and what walks over the trees
/// they make (copies, output, destruction), call themselves once per level, so that a text of 100,000 levels would
/// overflow the stack. toml++ has the same limit for arrays and inline tables.
inline constexpr std::size_t kMaxNesting = 256;

/// Where a JSON text goes deeper than kMaxNesting, in bytes from its start; nothing where it does not. Any text may
/// be given: up to the first mistake in it the levels are counted as a parser would. Thread-safe.
std::optional<std::size_t> too_deep_in_json(std::string_view text) noexcept;

/// The same for TOML, where each part of a dotted key or header is a level, too ("a.b.c = 1", "[a.b]"); so is a decimal
/// point.
std::optional<std::size_t> too_deep_in_toml(std::string_view text);

}  // namespace relucent
