#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relucent/model/cross_encoder.h"

namespace relucent {

/// The ids of a query and its candidates. A document may have several sequences, one per chunk.
class TokenizedBatch {
 public:
  std::vector<std::int32_t> query;  ///< with the special tokens behind it

  /// Adds one sequence of the document with number `document`, ended by the special tokens `end`; numbers must not
  /// decrease.
  void add(std::span<const std::int32_t> pieces, std::span<const std::int32_t> end, std::size_t document);

  /// All sequences with the special tokens at their ends, in the order added. Valid until the next add().
  std::vector<std::span<const std::int32_t>> sequences() const;

  /// Computes each document's logit from those of its sequences: their sum for sump, otherwise their maximum.
  void combine(std::span<const float> logits, LongDocuments mode, std::span<PairScore> documents) const;

 private:
  struct Sequence {
    std::size_t begin, size, document;
  };
  std::vector<std::int32_t> ids_;
  std::vector<Sequence> sequences_;
};

}  // namespace relucent
