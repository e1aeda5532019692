#pragma once

#include <chrono>
#include <vector>

#include "relucent/kernels/attention_time.h"

namespace relucent::cuda {

/// Module::time_attention.
std::vector<std::chrono::nanoseconds> time_attention(int device, Precision precision, const AttentionShape& shape,
                                                     int runs);

}  // namespace relucent::cuda
