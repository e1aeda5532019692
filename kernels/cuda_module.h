#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda_interface.h"

namespace relucent::cuda {

/// The CUDA module, loaded at the first call that finds it and kept for the life of the process: the file that
/// $RELUCENT_CUDA_MODULE names ("none": there is none), else librelucent_cuda.so beside this library or in the lib
/// folder next to this program, else wherever the dynamic linker finds it. Throws Error `device` that says why there is
/// none. Thread-safe.
const Module& module();

/// Every GPU that the module sees, as Module::devices. Throws Error `device`: no module, no driver, a driver too old.
std::vector<DeviceInfo> devices(bool free_memory);

/// A backend on `options.device`, "cuda:N" or "cuda"; what is not usable is refused by name. Throws Error.
std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options);

/// As Module::measure_peak, of the first GPU of a backend's BackendInfo::device.
double measure_peak(const BackendInfo& info);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 80 GB (79 GB free)".
std::string describe(const DeviceInfo& device);

}  // namespace relucent::cuda
