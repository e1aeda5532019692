#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "relucent/kernels/backend.h"

namespace relucent::cuda {

/// Raised whenever Module, or a type that passes through it, changes.
inline constexpr int kModuleAbi = 3;

/// One GPU as the driver tells it.
struct DeviceInfo {
  int index = 0;                                   ///< N of "cuda:N"
  std::string name;                                ///< "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;                        ///< compute capability
  std::uint64_t memory_bytes = 0, free_bytes = 0;  ///< free_bytes 0 where it was not asked for
  std::string problem;                             ///< why it cannot be used; empty if it can
};

/// What librelucent_cuda.so offers the library; the loader (kernels/cuda_module.h) finds and checks it. No CUDA type
/// stands here, so that the library is built without a toolkit.
struct Module {
  int abi;              ///< kModuleAbi
  const char* version;  ///< Relucent's version: must equal the library's
  /// Every GPU of this machine, usable or not. Asking for their free memory opens a context on each of them and closes
  /// it again; without it none is touched. Throws Error `device`: no driver, or one too old.
  std::vector<DeviceInfo> (*devices)(bool free_memory);
  /// `options.device` is "cuda:N", or "cuda" for all usable GPUs of the first one's kind, over which queries are
  /// spread. Throws Error: `device` for a GPU that is absent or fails, `unsupported` for a description or precision it
  /// cannot run. The weights are checked already (checks.h); batches are not: the backend does that as every other one.
  std::unique_ptr<Backend> (*make_backend)(const EncoderDescription& description, const EncoderWeights& weights,
                                           const BackendOptions& options);
  /// Operations a second (a multiply-add is two) of one large matrix product in `precision` on GPU `device`, the best
  /// of some runs. Throws Error `device`.
  double (*measure_peak)(int device, Precision precision);
};

}  // namespace relucent::cuda

/// The module's one symbol.
extern "C" const relucent::cuda::Module* relucent_cuda_module() noexcept;
