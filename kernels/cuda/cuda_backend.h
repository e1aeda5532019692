#pragma once

#include <memory>

#include "relucent/kernels/backend.h"

namespace relucent::cuda {

/// Module::make_backend.
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options);

}  // namespace relucent::cuda
