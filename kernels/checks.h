#pragma once

#include <cstddef>
#include <span>

#include "relucent/kernels/backend.h"

namespace relucent {

/// Throws Error `invalid_data` if a size is not positive, sizes do not divide evenly, or a tensor's shape does not
/// match the description. The message names the tensor, its shape and the expected shape.
void check_weights(const EncoderDescription& description, const EncoderWeights& weights);

/// Throws Error `usage` for input that Backend::score rejects: an empty segment or one in the wrong place; an id, a
/// position or a token type outside its table; or another number of `logits` than the head gives.
void check_batch(const EncoderDescription& description, const ScoringBatch& batch, std::size_t logits);

/// Throws Error for input that Backend::encode rejects, and `unsupported` if no group derives from texts. `states`: how
/// many numbers there is room for.
void check_texts(const EncoderDescription& description, std::span<const Segment> texts, std::size_t states);

}  // namespace relucent
