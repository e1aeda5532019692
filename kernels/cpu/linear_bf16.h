#pragma once

#include "cpu/linear.h"

namespace relucent::cpu {

/// Throws Error `unsupported` where oneDNN refuses bf16.
std::unique_ptr<const Linear> make_linear_bf16(const VectorKernels& kernels, std::vector<float> weight,
                                               std::vector<float> bias);

}  // namespace relucent::cpu
