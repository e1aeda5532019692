// An encoder's weights in the device's format, packed once into one block of host memory. Host code.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/cuda/element.h"
#include "kernels/cuda/shared_weights.h"
#include "relucent/kernels/encoder.h"

namespace relucent::cuda {

/// Tokens of an input, and positions, that an encoder without a position table takes here.
inline constexpr int kMaxFreePositions = 8192;
inline int longest_input(const EncoderDescription& description) {
  return description.max_positions > 0 ? description.max_positions : kMaxFreePositions;
}

/// Offsets into PackedWeights::bytes, aligned to 256 bytes; of what the encoder lacks:
inline constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

struct PackedLinear {
  std::size_t weight = kAbsent;  ///< [out, in]
  std::size_t bias = kAbsent;    ///< [out]
};
struct PackedNorm {
  std::size_t gamma = kAbsent, beta = kAbsent;  ///< fp32 [hidden]
};
struct PackedLayer {
  PackedLinear qkv;               ///< [3 * width, hidden]: query, key, value; width: heads * head size
  PackedLinear attention_output;  ///< [hidden, width]
  PackedLinear intermediate;      ///< [intermediate, hidden]; if gated, the gate's rows follow
  PackedLinear output;
  /// After the sub-blocks; or, if norms come before them, that of the feed-forward, and the next layer's or the last
  /// one.
  PackedNorm attention_norm, output_norm;
  PackedLinear relative_key, relative_query;  ///< disentangled: [hidden, hidden], often within qkv
  std::size_t turns = kAbsent;                ///< rotary: fp32 [positions, 2, head size / 2], cosines and sines
  /// Relative buckets: fp32 [heads, 2 * reach + 1], by distance (the token's position less the key's) from -reach on,
  /// divided by the attention's scale.
  std::size_t biases = kAbsent;
  int reach = 0;
};

/// A layer of a decoder of one token, whose own attention has one key, and so is its value.
struct PackedDecoderLayer {
  PackedLinear own_value, own_output;          ///< [width, hidden], [hidden, width]
  PackedNorm norm;                             ///< before the attention to the first stack's states
  PackedLinear query;                          ///< [width, hidden]
  std::size_t key = kAbsent, value = kAbsent;  ///< [width, hidden]; the key's bias cancels
  PackedLinear output;                         ///< [hidden, width]; its bias includes the values'
  PackedLayer feed_forward;                    ///< the rest of the layer
};

/// A layer in which contexts and gated tokens see the keys of a layer of the query.
struct PackedInteraction {
  PackedLayer layer;
  PackedLinear gated_query;  ///< [hidden, hidden]
  PackedLinear gate;         ///< [hidden, 3 * hidden]
};
/// What pivots pass through after a layer.
struct PackedExchange {
  PackedLayer layer;
  PackedLinear combine;  ///< [hidden, 2 * hidden]; absent if it does not combine
};

/// A step of the head; the biases are in fp32.
struct PackedHeadStep {
  PackedLinear dense, residual;
  PackedNorm norm;
};

/// Weights and biases of products are elements of one type, everything else is fp32. The intermediate size is rounded
/// up to a multiple of 16 with zeros, that of a gate too.
struct PackedWeights {
  /// Throws Error `unsupported` if `element` is fp16 and a weight is out of its range.
  PackedWeights(const EncoderDescription& description, const EncoderWeights& weights, Element element);

  Element element;
  int intermediate_size;
  std::size_t word = 0, position = kAbsent, type = kAbsent;  ///< embedding tables
  PackedNorm embedding_norm;
  PackedLinear embedding_projection;
  PackedNorm first_norm;  ///< before the first sub-block
  std::vector<PackedLayer> layers;
  PackedNorm decoder_norm;                     ///< before the first sub-block of a decoder
  std::vector<PackedDecoderLayer> decoder;     ///< with a decoder
  std::vector<PackedInteraction> interaction;  ///< with interaction
  std::vector<PackedExchange> exchanges;       ///< one per layer, or none
  /// Disentangled attention: elements [buckets, hidden]; and [2 * reach + 1] rows of them as 32-bit integers, by
  /// distance from -reach on.
  std::size_t relative_states = kAbsent, relative_rows = kAbsent;
  int relative_buckets = 0, relative_reach = 0;
  PackedLinear convolution;  ///< [hidden, size * hidden]
  PackedNorm convolution_norm;
  std::size_t codes = kAbsent;  ///< fp32 [tokens, hidden] of a context derived by codes
  /// Bias of the last layer's attention output, which includes the values' bias: softmax weights sum to 1.
  std::size_t last_output_bias = kAbsent;
  std::vector<PackedHeadStep> head_steps;
  /// fp32 [outputs, size of the last step], times a scale before it, and [outputs].
  std::size_t head_output = kAbsent, head_output_bias = kAbsent;
  /// A head that pools pivots, folded (kernels/folded_head.h), in fp32: [groups, heads, 2, hidden], the vectors of the
  /// softmax and of the values; and [groups + 1], the groups' biases and that of every score.
  std::size_t pooling = kAbsent, pooling_bias = kAbsent;
  std::shared_ptr<SharedWeights> bytes;

 private:
  /// Sets everything but `bytes`, whose content it writes to `to`.
  void pack_into(std::vector<std::byte>& to, const EncoderDescription& description, const EncoderWeights& weights);
};

}  // namespace relucent::cuda
