#pragma once

#include "kernels/cuda/kernels.h"

namespace relucent::cuda {

/// attention() in fp32 throughout, for the exact path: same work, no tensor cores.
cudaError_t exact_attention(const AttentionWork& work, const float* qkv, float* context, cudaStream_t stream);

}  // namespace relucent::cuda
