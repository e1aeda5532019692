#include "cuda/devices.h"

#include <algorithm>
#include <string>

#include "cuda/device.h"
#include "cuda/matmul.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

constexpr int kLeastMajor = 8;  // mma.m16n8k16 for both 16-bit types, cp.async

std::string version(int number) { return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10); }

DeviceInfo look_at(int index) {
  DeviceInfo info;
  info.index = index;
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess) {
    cudaGetLastError();
    info.problem = std::string("cannot be asked: ") + cudaGetErrorString(error);
    return info;
  }
  info.name = properties.name;
  info.major = properties.major, info.minor = properties.minor;
  info.memory_bytes = properties.totalGlobalMem;
  if (info.major < kLeastMajor) {
    info.problem = "has compute capability " + std::to_string(info.major) + '.' + std::to_string(info.minor) + "; " +
                   std::to_string(kLeastMajor) + ".0 or later is needed";
    return info;
  }
  try {
    const CurrentDevice current(index);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), index, "asking for free memory");
    info.free_bytes = free;
  } catch (const Error& error) {
    info.problem = error.problem();
  }
  return info;
}

}  // namespace

std::vector<DeviceInfo> devices() {
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
    throw Error(ErrorKind::device, "cuda", driver == 0 ? "there is no NVIDIA driver" : "the NVIDIA driver is for CUDA " +
                version(driver) + ", this build needs " + version(runtime), "install a newer driver, or use device = \"cpu\"");
  }
  if (error != cudaSuccess) {
    cudaGetLastError();
    throw Error(ErrorKind::device, "cuda", std::string("looking for GPUs failed: ") + cudaGetErrorString(error) + " (" +
                cudaGetErrorName(error) + ")", "see whether nvidia-smi works, or use device = \"cpu\"");
  }
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count; ++i) all.push_back(look_at(i));
  return all;
}

double measure_peak(int device, Precision precision) {
  constexpr int size = 8192, runs = 10;
  const Element element = precision == Precision::bf16 ? Element::bf16
                          : precision == Precision::fp32 || precision == Precision::tf32 ? Element::f32
                                                                                         : Element::f16;
  const CurrentDevice current(device);
  const std::size_t bytes = std::size_t{size} * size * size_of(element);
  const DeviceMemory x(device, bytes, "the measurement"), w(device, bytes, "the measurement"),
      y(device, bytes, "the measurement");
  Stream stream(device);
  // Not zeros: they are faster than real numbers. A pattern of bytes that is a small number in every type.
  check(cudaMemsetAsync(x.data(), 0x2e, bytes, stream), device, "writing the measurement's input");
  check(cudaMemsetAsync(w.data(), 0x2d, bytes, stream), device, "writing the measurement's input");
  const MatmulLibrary library(device);
  MatmulForm form;
  form.element = element;
  form.tf32 = precision == Precision::tf32;
  form.out = form.in = form.x_stride = form.y_stride = size;
  form.weight = w.data();
  form.usual_rows = size;
  const Matmul product(library, form);
  double best = 0;
  for (int run = 0; run <= runs; ++run) {  // the first one is not counted
    stream.start_clock();
    product.run(x.data(), y.data(), size, stream);
    stream.stop_clock();
    stream.wait();
    if (run > 0) best = std::max(best, 2.0 * size * size * size / (stream.milliseconds() * 1e-3));
  }
  return best;
}

}  // namespace relucent::cuda
