#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace relucent {

/// The maximum number of values and names in a JSON text. Their tree takes about a hundred bytes for each, while "[],"
/// takes three in the text. The largest vocabularies with their merges have 2.5 million.
inline constexpr std::size_t kMaxJsonValues = 4'000'000;

/// The byte offset at which a JSON text has more than `most` values and names, as counted by its punctuation outside
/// strings; nullopt if it has no more. Accepts any text: up to its first syntax error a parser finds no more.
/// Thread-safe.
std::optional<std::size_t> too_many_in_json(std::string_view text, std::size_t most = kMaxJsonValues) noexcept;

}  // namespace relucent
