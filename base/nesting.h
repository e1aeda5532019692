#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace relucent {

/// The maximum number of nested arrays, objects and tables in a JSON or TOML text. Parsers, and the code that copies,
/// prints or destroys their trees, recurse once per level, so a text with 100,000 levels would overflow the stack.
/// toml++ has the same limit for arrays and inline tables.
inline constexpr std::size_t kMaxNesting = 256;

/// The byte offset at which a JSON text exceeds kMaxNesting; nullopt if it does not. Accepts any text: up to its first
/// syntax error the levels are counted as a parser would. Thread-safe.
std::optional<std::size_t> too_deep_in_json(std::string_view text) noexcept;

/// The same for TOML. Each part of a dotted key or header also counts as a level ("a.b.c = 1", "[a.b]"), and so does a
/// decimal point.
std::optional<std::size_t> too_deep_in_toml(std::string_view text);

}  // namespace relucent
