#pragma once

#include "base/checksum.h"
#include "relucent/kernels/encoder.h"

/// Checksums of weights, for fingerprints of what models compute. Absent tensors add nothing.
namespace relucent {

void add_tensor(Checksum& sum, const TensorView& tensor);
void add_linear(Checksum& sum, const LinearWeights& linear);
void add_norm(Checksum& sum, const NormWeights& norm);
/// The tables of words, positions and token types, with the norm and the projection behind them.
void add_embeddings(Checksum& sum, const EncoderWeights& weights);
/// A layer of one attention.
void add_layer(Checksum& sum, const LayerWeights& layer);

}  // namespace relucent
