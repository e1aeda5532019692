#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "relucent/kernels/attention_time.h"
#include "relucent/kernels/backend.h"

namespace relucent::cuda {

/// Increased whenever Module, or a type passed through it, changes.
inline constexpr int kModuleAbi = 8;

/// One GPU as reported by the driver.
struct DeviceInfo {
  int index = 0;                                   ///< N of "cuda:N"
  std::string name;                                ///< "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;                        ///< compute capability
  std::uint64_t memory_bytes = 0, free_bytes = 0;  ///< free_bytes is 0 unless requested
  std::string problem;                             ///< why it cannot be used; empty if it can
};

/// The interface of librelucent_cuda.so to the library; the loader (kernels/cuda_module.h) finds and checks it. Uses no
/// CUDA types, so the library builds without a toolkit.
struct Module {
  int abi;              ///< kModuleAbi
  const char* version;  ///< Relucent's version: must equal the library's
  /// Every GPU of this machine, usable or not. Querying their free memory briefly opens a context on each of them;
  /// otherwise none is opened. Throws Error `device`: no driver, or an old one.
  std::vector<DeviceInfo> (*devices)(bool free_memory);
  /// `options.device` is "cuda:N", or "cuda" to spread queries over all usable GPUs of the same kind as the first.
  /// Throws Error: `device` if a GPU is absent or fails, `unsupported` for a description or precision it cannot run.
  /// The caller has checked the weights (checks.h); the backend checks batches, like every other backend.
  std::unique_ptr<Backend> (*make_backend)(const EncoderDescription& description, const EncoderWeights& weights,
                                           const BackendOptions& options);
  /// Operations per second (a multiply-add counts as two) of one large matrix product in `precision` on GPU `device`,
  /// the best of several runs. Throws Error `device`.
  double (*measure_peak)(int device, Precision precision);
  /// relucent::time_attention on GPU `device`. Throws Error: `device`, `unsupported` for a shape beyond the kernel's
  /// limits.
  std::vector<std::chrono::nanoseconds> (*time_attention)(int device, Precision precision, const AttentionShape& shape,
                                                          int runs);
};

}  // namespace relucent::cuda

/// The module's only exported symbol.
extern "C" const relucent::cuda::Module* relucent_cuda_module() noexcept;
