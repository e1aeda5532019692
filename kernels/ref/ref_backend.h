#pragma once

#include <memory>

#include "relucent/kernels/backend.h"

namespace relucent::ref {

/// The plain fp32 reference: executes every description step by step, nothing shared, nothing skipped, sums in double.
/// One thread per call. The weights must have passed check_weights().
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights);

}  // namespace relucent::ref
