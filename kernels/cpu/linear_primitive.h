#pragma once

#include "cpu/linear.h"

namespace relucent::cpu {

/// f32 is there for tests: it runs on every processor, and all but the data type is the same.
enum class OperandType { bf16, f32 };

/// Products by oneDNN's matmul primitive, with the weights in the layout it prefers. Operands hold values of `type`.
/// Throws Error `unsupported` where oneDNN refuses the type.
std::unique_ptr<const Linear> make_linear_primitive(OperandType type, const VectorKernels& kernels,
                                                    const std::vector<float>& weight, std::vector<float> bias);

}  // namespace relucent::cpu
