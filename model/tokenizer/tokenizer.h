#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relucent {

/// Text to the ids of a vocabulary. Immutable, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the ids of `text` (UTF-8; invalid bytes count as U+FFFD), without special tokens, but at most
  /// `limit` of them: what lies behind is not looked at. Returns whether there was more.
  virtual bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids) const = 0;

  virtual std::int32_t cls_id() const noexcept = 0;
  virtual std::int32_t sep_id() const noexcept = 0;
  virtual std::int32_t vocabulary_size() const noexcept = 0;

  /// For people: "WordPiece, 30522 entries, lower-cased (vocab.txt)".
  virtual std::string summary() const = 0;
};

}  // namespace relucent
