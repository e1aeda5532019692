#pragma once

#include <memory>

#include "relucent/kernels/backend.h"

namespace relucent::cpu {

/// The fast backend for CPUs. Checked weights are presumed (checks.h). Throws what create_backend says.
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options);

}  // namespace relucent::cpu
