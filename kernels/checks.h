#pragma once

#include <cstddef>

#include "relucent/kernels/backend.h"

namespace relucent {

/// Throws Error `invalid_data` where a size is not positive, sizes do not divide, or a tensor's shape does not fit the
/// description; it names the tensor, the shape found and the shape wanted.
void check_weights(const EncoderDescription& description, const EncoderWeights& weights);

/// Throws Error `usage` for what Backend::score refuses: an empty sequence, an id outside the vocabulary, more
/// positions than the table has, or `logits` not one a document.
void check_batch(const EncoderDescription& description, const ScoringBatch& batch, std::size_t logits);

}  // namespace relucent
