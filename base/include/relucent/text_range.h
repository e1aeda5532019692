#pragma once

#include <cstddef>

namespace relucent {

/// The bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;

  friend constexpr bool operator==(const TextRange&, const TextRange&) = default;
};

/// The pieces [begin, end) of a text as a model's tokenizer splits it.
struct PieceRange {
  std::size_t begin = 0, end = 0;
  bool all = false;  ///< they are all of the text's

  friend constexpr bool operator==(const PieceRange&, const PieceRange&) = default;
};

}  // namespace relucent
