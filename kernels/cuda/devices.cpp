#include "kernels/cuda/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "kernels/cuda/context.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/matmul.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

constexpr int kLeastMajor = 8;  // mma.m16n8k16 for both 16-bit types, cp.async

DeviceInfo describe_device(int index) {
  DeviceInfo info;
  info.index = index;
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess) {
    cudaGetLastError();
    info.problem = fmt::format("cannot be queried: {}", cudaGetErrorString(error));
    return info;
  }
  info.name = properties.name;
  info.major = properties.major, info.minor = properties.minor;
  info.memory_bytes = properties.totalGlobalMem;
  if (info.major < kLeastMajor) {
    info.problem =
        fmt::format("has compute capability {}.{}, but {}.0 or later is needed", info.major, info.minor, kLeastMajor);
  }
  return info;
}

/// Briefly opens a context on the device, so callers must ask for it.
void look_at_memory(DeviceInfo& info) {
  try {
    const BorrowedContext context(info.index);
    const CurrentContext current(info.index, context.get());
    std::size_t free = 0, total = 0;
    check(driver(info.index).memory(&free, &total), info.index, "querying the free memory");
    info.free_bytes = free;
  } catch (const Error& error) {
    info.problem = error.problem();
  }
}

}  // namespace

Element element_of(Precision precision) {
  if (precision == Precision::bf16) return Element::bf16;
  return precision == Precision::fp32 || precision == Precision::tf32 ? Element::f32 : Element::f16;
}

std::vector<DeviceInfo> devices(bool free_memory) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice) {
    cudaGetLastError();
    return {};
  }
  if (error == cudaErrorInsufficientDriver) {
    cudaGetLastError();
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) {
      throw Error(ErrorKind::device, "cuda", "no NVIDIA driver was found", "install one, or use device = \"cpu\"");
    }
    throw Error(ErrorKind::device, "cuda",
                fmt::format("the NVIDIA driver supports CUDA {}, but this build needs {}", cuda_version(driver),
                            cuda_version(runtime)),
                "install a newer driver, or use device = \"cpu\"");
  }
  if (error != cudaSuccess) {
    cudaGetLastError();
    throw Error(ErrorKind::device, "cuda",
                fmt::format("looking for GPUs failed: {} ({})", cudaGetErrorString(error), cudaGetErrorName(error)),
                "check that nvidia-smi works, or use device = \"cpu\"");
  }
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(describe_device(i));
    if (free_memory && all.back().problem.empty()) look_at_memory(all.back());
  }
  return all;
}

double measure_peak(int device, Precision precision) {
  constexpr int runs = 10;
  const Element element = element_of(precision);
  const CurrentDevice current(device);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), device, "querying the free memory");
  int size = 8192;
  const auto matrix_bytes = [&] {
    return static_cast<std::size_t>(size) * static_cast<std::size_t>(size) * size_of(element);
  };
  while (size > 64 && 3 * matrix_bytes() > free / 2) size /= 2;
  const std::size_t bytes = matrix_bytes();
  const DeviceMemory x(device, bytes, "the measurement"), w(device, bytes, "the measurement"),
      y(device, bytes, "the measurement");
  Stream stream(device);
  Clock clock(device);
  fill_with_numbers(x.data(), bytes, element, stream);
  fill_with_numbers(w.data(), bytes, element, stream);
  MatmulLibrary library(device);
  const DeviceMemory workspace(device, library.workspace_bytes(), "the measurement");
  MatmulForm form;
  form.element = element;
  form.tf32 = precision == Precision::tf32;
  form.out = form.in = form.x_stride = form.y_stride = size;
  form.weight = w.data();
  form.usual_rows = size;
  const Matmul product(library, form);
  double best = 0;
  for (int run = 0; run <= runs; ++run) {  // the first one is not counted
    clock.start(stream);
    product.run(x.data(), y.data(), size, workspace.data(), stream);
    clock.stop(stream);
    stream.wait();
    if (run > 0)
      best = std::max(best, 2.0 * size * size * size / std::chrono::duration<double>(clock.elapsed()).count());
  }
  return best;
}

}  // namespace relucent::cuda
