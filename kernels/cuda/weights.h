// An encoder's weights in the device's format, packed once into one block of host memory. Host code.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/element.h"
#include "relucent/kernels/encoder.h"

namespace relucent::cuda {

/// Offsets into PackedWeights::bytes, aligned to 256 bytes.
struct PackedLinear {
  std::size_t weight = 0;  ///< [out, in]
  std::size_t bias = 0;    ///< [out]
};
struct PackedNorm {
  std::size_t gamma = 0, beta = 0;  ///< fp32 [hidden]
};
struct PackedLayer {
  PackedLinear qkv;  ///< [3 * hidden, hidden]: query, key, value
  PackedLinear attention_output, intermediate, output;
  PackedNorm attention_norm, output_norm;
};

/// Weights and biases of products are elements of one type, everything else is fp32. The intermediate size is rounded
/// up to a multiple of 16 with zeros.
struct PackedWeights {
  /// Throws Error `unsupported` if `element` is fp16 and a weight is out of its range.
  PackedWeights(const EncoderDescription& description, const EncoderWeights& weights, Element element);

  Element element;
  int intermediate_size;
  std::size_t word = 0, position = 0, type = 0;  ///< embedding tables
  PackedNorm embedding_norm;
  std::vector<PackedLayer> layers;
  /// Bias of the last layer's attention output, which includes the values' bias: softmax weights sum to 1, so
  /// W_O (sum p v + b_V) + b_O = W_O sum p v + (W_O b_V + b_O).
  std::size_t last_output_bias = 0;
  std::size_t pooler_weight = 0, pooler_bias = 0;   ///< the bias in fp32
  std::size_t classifier = 0, classifier_bias = 0;  ///< fp32 [hidden], [1]
  std::vector<std::byte> bytes;
};

}  // namespace relucent::cuda
