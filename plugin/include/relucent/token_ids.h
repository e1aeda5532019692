#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace relucent {

/// A text's token ids, without special tokens.
struct TokenIds {
  std::vector<std::int32_t> ids;
  bool all = true;  ///< false: only the first ids of the text
};

/// Token ids as an index stores them: a byte of flags (bit 0: the text has more ids; bit 1: four bytes per id instead
/// of two), then the ids, lowest byte first. nullopt for malformed bytes. Inline, because modules of scorers need no
/// library.
inline std::optional<TokenIds> read_token_ids(std::string_view bytes) {
  constexpr unsigned more = 1, four_bytes = 2;
  if (bytes.empty()) return std::nullopt;
  const auto how = static_cast<std::uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  const std::size_t size = (how & four_bytes) != 0 ? 4 : 2;
  if ((how & ~(more | four_bytes)) != 0 || bytes.size() % size != 0) return std::nullopt;
  TokenIds read{std::vector<std::int32_t>(bytes.size() / size), (how & more) == 0};
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::uint32_t byte = static_cast<std::uint8_t>(bytes[at]);
    read.ids[at / size] |= static_cast<std::int32_t>(byte << 8 * (at % size));
  }
  return read;
}

}  // namespace relucent
