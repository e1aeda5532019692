#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace relucent {

class Tokenizer;

/// The stored field of an index that keeps its texts' token ids.
inline constexpr const char* kTokenIdsField = "relucent.token_ids";

/// What an index's token ids are made with.
struct TokenIdEncoder {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int32_t most = 0;  ///< ids a document: what lies behind is not stored
};

/// Writes the ids of `text` into `bytes`, in place of what is there: a byte that says how (bit 0: the text has more
/// ids; bit 1: four bytes an id, not two), then the ids, lowest byte first. Two bytes do for up to 65,536 entries.
void write_token_ids(const TokenIdEncoder& maker, std::string_view text, std::string& bytes);

/// Appends the ids to `ids` and sets `all`, whether these are all of the text's. False, and nothing appended, for bytes
/// that cannot be a document's ids.
bool read_token_ids(std::string_view bytes, std::vector<std::int32_t>& ids, bool& all);

}  // namespace relucent
