#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relucent/model/cross_encoder.h"

namespace relucent {

/// A query's and its candidates' ids. A document may have several sequences, its chunks.
class TokenizedBatch {
 public:
  std::vector<std::int32_t> query;  ///< with its [SEP]

  /// Adds one sequence of the document with the number `document`; numbers never go down.
  void add(std::span<const std::int32_t> pieces, std::int32_t sep, std::size_t document);

  /// Every sequence with its [SEP], in the order added. Valid until the next add().
  std::vector<std::span<const std::int32_t>> sequences() const;

  /// A document's logit from those of its sequences: their sum for sump, otherwise the greatest.
  void combine(std::span<const float> logits, LongDocuments mode, std::span<PairScore> documents) const;

 private:
  struct Sequence {
    std::size_t begin, size, document;
  };
  std::vector<std::int32_t> ids_;
  std::vector<Sequence> sequences_;
};

}  // namespace relucent
