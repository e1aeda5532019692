#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace relucent {

class Tokenizer;

/// The stored field with the token ids of a document's text.
inline constexpr const char* kTokenIdsField = "relucent.token_ids";

/// The tokenizer of an index's token ids and their maximum number.
struct TokenIdEncoder {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int32_t most = 0;  ///< ids per document; further ids are not stored
};

/// Replaces `bytes` with the ids of `text`: a byte of flags (bit 0: the text has more ids; bit 1: four bytes per id
/// instead of two), then the ids, lowest byte first. Two bytes suffice for up to 65,536 entries.
void write_token_ids(const TokenIdEncoder& maker, std::string_view text, std::string& bytes);

/// Appends the ids to `ids` and sets `all` to whether they are all ids of the text. Returns false and appends nothing
/// if the bytes are malformed.
bool read_token_ids(std::string_view bytes, std::vector<std::int32_t>& ids, bool& all);

}  // namespace relucent
