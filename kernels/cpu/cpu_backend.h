#pragma once

#include <memory>
#include <string>

#include "relucent/kernels/backend.h"

namespace relucent::cpu {

/// The fast backend for CPUs. The weights must have passed check_weights(). Throws the same Errors as create_backend.
/// @param why_no_gpu, gpu_failed  for BackendInfo
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options, const std::string& why_no_gpu = {},
                                      bool gpu_failed = false);

}  // namespace relucent::cpu
