#pragma once

#include <memory>
#include <string>

#include "relucent/kernels/backend.h"

// The backends of the library itself. The weights must have passed check_weights().

namespace relucent::ref {

/// The plain fp32 reference: executes every description step by step, nothing shared, nothing skipped, sums in double.
/// One thread per call.
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights);

}  // namespace relucent::ref

namespace relucent::cpu {

/// The fast backend for CPUs. Throws the same Errors as create_backend.
/// @param why_no_gpu, gpu_failed  for BackendInfo
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options, const std::string& why_no_gpu = {},
                                      bool gpu_failed = false);

}  // namespace relucent::cpu
