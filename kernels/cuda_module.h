#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda_interface.h"

namespace relucent::cuda {

/// The CUDA module, loaded by the first call that finds it and kept until the process ends: the file named by
/// $RELUCENT_CUDA_MODULE ("none" disables it), else librelucent_cuda.so next to this library or in the lib directory
/// next to this program, else wherever the dynamic linker finds it. Throws Error `device` stating why it cannot be
/// loaded. Thread-safe.
const Module& module();

/// Every GPU that the module sees; see Module::devices. Throws Error `device`: no module, no driver or an old driver.
std::vector<DeviceInfo> devices(bool free_memory);

/// A backend on `options.device`, "cuda:N" or "cuda". Throws Error naming the device if it is not usable.
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options);

/// As Module::measure_peak, of the first GPU of a backend's BackendInfo::device.
double measure_peak(const BackendInfo& info);

/// As Module::time_attention, of the same GPU.
std::vector<std::chrono::nanoseconds> time_attention(const BackendInfo& info, const AttentionShape& shape, int runs);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 80 GB (79 GB free)".
std::string describe(const DeviceInfo& device);

}  // namespace relucent::cuda
