#pragma once

#include "base/checksum.h"
#include "relucent/kernels/encoder.h"

/// Checksums of weights, for fingerprints of what models compute. Absent tensors add nothing.
namespace relucent {

void add_tensor(Checksum& sum, const TensorView& tensor);
void add_linear(Checksum& sum, const LinearWeights& linear);
void add_norm(Checksum& sum, const NormWeights& norm);

}  // namespace relucent
