#pragma once

#include <span>
#include <vector>

#include "kernels/ref/parts.h"

namespace relucent::ref {

/// One token of one candidate, or a pivot. Shared tokens are computed for every candidate.
struct Token {
  std::size_t group = 0, candidate = 0, segment = 0;
  std::int32_t position = 0;
  bool derived = false;                       // not given: States::derive() gives its states
  bool computed = false;                      // given by its states
  std::int32_t number = 0;                    // of a pivot
  std::span<const std::int32_t> linked = {};  // what a pivot sees of its group
};

/// Turns each pair (i, i + head_size / 2) of each head by the token's position.
void rotate(Matrix& x, const std::vector<Token>& tokens, const Attention& form);

/// The softmax of what each token of `queries` sees, head by head: [queries, heads * head_size]. `parts` has what
/// relative positions need.
Matrix attend(const Matrix& query, const std::vector<Token>& queries, const Matrix& key, const Matrix& value,
              const std::vector<Token>& keys, const Attention& form, const AttentionParts* parts);

}  // namespace relucent::ref
