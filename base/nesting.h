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

/// The maximum number of values and names in a JSON text. Their tree takes about a hundred bytes for each, while "[],"
/// takes three in the text. The largest vocabularies with their merges have 2.5 million.
inline constexpr std::size_t kMaxJsonValues = 4'000'000;

/// The byte offset at which a JSON text has more than `most` values and names, as counted by its punctuation outside
/// strings; nullopt if it has no more. Accepts any text: up to its first syntax error a parser finds no more.
/// Thread-safe.
std::optional<std::size_t> too_many_in_json(std::string_view text, std::size_t most = kMaxJsonValues) noexcept;

/// The same for TOML. Each part of a dotted key or header also counts as a level ("a.b.c = 1", "[a.b]"), and so does a
/// decimal point.
std::optional<std::size_t> too_deep_in_toml(std::string_view text);

}  // namespace relucent
