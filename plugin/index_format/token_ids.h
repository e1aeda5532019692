#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "relucent/token_ids.h"

namespace relucent {

class Tokenizer;

/// The stored field with the token ids of a document's text.
inline constexpr const char* kTokenIdsField = "relucent.token_ids";

/// The tokenizer of an index's token ids and their maximum number.
struct TokenIdEncoder {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int32_t most = 0;  ///< ids per document; further ids are not stored
};

/// Replaces `bytes` with the ids of `text`, as read_token_ids() reads them. Two bytes per id suffice for up to 65,536
/// entries.
void write_token_ids(const TokenIdEncoder& maker, std::string_view text, std::string& bytes);

}  // namespace relucent
