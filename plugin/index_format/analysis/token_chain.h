#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace relucent::analysis {

/// A token of a chain; the term lies in the chain's buffer.
struct ChainToken {
  std::u16string_view term;
  std::size_t start = 0, end = 0;  ///< the word before stemming, in UTF-16 units of the text
  std::int32_t position_increment = 1;
};

/// Cuts a text into words and makes terms of them. Reusable for many texts; one object per thread.
class TokenChain {
 public:
  virtual ~TokenChain() = default;
  /// Starts with `text`, which must stay valid until the last call of next().
  virtual void reset(std::u16string_view text) = 0;
  /// Returns to the first token of the same text.
  virtual void rewind() = 0;
  /// The next token; false at the end.
  virtual bool next(ChainToken& token) = 0;
  /// The number of stop words after the last token, once next() has returned false.
  virtual std::int32_t end_increment() const = 0;
};

}  // namespace relucent::analysis
