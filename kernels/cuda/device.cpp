#include "kernels/cuda/device.h"

#include <fmt/core.h>

#include <thread>
#include <utility>

namespace relucent::cuda {
namespace {

std::size_t megabytes(std::size_t bytes) { return (bytes + 999'999) / 1'000'000; }

const char* remedy_for(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "free some GPU memory, or use another device";
    case cudaErrorInsufficientDriver:
      return "install a driver that is at least as new as the CUDA toolkit of this build";
    case cudaErrorUnsupportedPtxVersion:
      return "install a newer driver, or build with CMAKE_CUDA_ARCHITECTURES set to this GPU's, so that no PTX is "
             "needed";
    case cudaErrorNoKernelImageForDevice: return "build with CMAKE_CUDA_ARCHITECTURES set to this GPU's";
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice: return "list the devices with `relucent model info --device`";
    default: return "if it persists, use device = \"cpu\"; restart the process if the GPU was lost";
  }
}

/// The two errors of a module that does not fit the GPU are explained; CUDA's texts speak of toolchains and images.
std::string reason_for(cudaError_t error) {
  if (error == cudaErrorUnsupportedPtxVersion) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    return fmt::format(
        "this build has only PTX of CUDA {} for this GPU, which the driver, of CUDA {}, is too old to compile",
        cuda_version(runtime), cuda_version(driver));
  }
  if (error == cudaErrorNoKernelImageForDevice) return "this build has no code for this GPU";
  return cudaGetErrorString(error);
}

/// What `query` returns once it no longer returns cudaErrorNotReady.
template <typename Query>
cudaError_t polled(const Query& query) {
  cudaError_t state = query();
  for (; state == cudaErrorNotReady; state = query()) std::this_thread::yield();
  return state;
}

}  // namespace

std::string cuda_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

std::string device_name(int device) { return fmt::format("cuda:{}", device); }

void check(cudaError_t error, int device, const std::string& operation) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that no other code in this process sees it
  const std::string problem = fmt::format("{} failed: {} ({})", operation, reason_for(error), cudaGetErrorName(error));
  if (error == cudaErrorMemoryAllocation) {
    throw OutOfMemory(ErrorKind::device, device_name(device), problem, remedy_for(error));
  }
  throw Error(ErrorKind::device, device_name(device), problem, remedy_for(error));
}

void check(CUresult error, int device, const std::string& operation) {
  check(static_cast<cudaError_t>(error), device, operation);
}

DeviceMemory::DeviceMemory(int device, std::size_t bytes, const std::string& what) {
  if (bytes == 0) return;
  const cudaError_t error = cudaMalloc(&data_, bytes);
  std::string operation = fmt::format("allocating {} MB for {}", megabytes(bytes), what);
  std::size_t free = 0, total = 0;
  if (error == cudaErrorMemoryAllocation && cudaMemGetInfo(&free, &total) == cudaSuccess) {
    operation += fmt::format(", with {} of {} MB free,", megabytes(free), megabytes(total));
  }
  check(error, device, operation);
}
DeviceMemory::~DeviceMemory() { cudaFree(data_); }

PinnedMemory::PinnedMemory(int device, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMallocHost(&data_, bytes), device, fmt::format("allocating {} MB of pinned host memory", megabytes(bytes)));
}
PinnedMemory::~PinnedMemory() { cudaFreeHost(data_); }

Stream::Stream(int device) : device_(device) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), device, "creating a stream");
}

Stream::~Stream() {
  settle();
  cudaStreamDestroy(stream_);
}

void Stream::copy_to_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, *this), device_, "copying to the device");
}

void Stream::copy_to_host(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, *this), device_, "copying from the device");
}

void Stream::copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, *this), device_, "copying on the device");
}

void Stream::wait() {
  pending_ = false;
  check(polled([this] { return cudaStreamQuery(stream_); }), device_, "running the model");
}

void Stream::settle() noexcept {
  if (std::exchange(pending_, false)) polled([this] { return cudaStreamQuery(stream_); });
}

Clock::Clock(int device) : device_(device) {
  try {
    check(cudaEventCreate(&start_), device, "creating an event");
    check(cudaEventCreate(&stop_), device, "creating an event");
  } catch (...) {
    destroy();
    throw;
  }
}

Clock::~Clock() { destroy(); }

void Clock::destroy() noexcept {
  if (stop_ != nullptr) cudaEventDestroy(stop_);
  if (start_ != nullptr) cudaEventDestroy(start_);
}

void Clock::start(Stream& stream) { check(cudaEventRecord(start_, stream), device_, "recording an event"); }
void Clock::stop(Stream& stream) { check(cudaEventRecord(stop_, stream), device_, "recording an event"); }

void Clock::wait() {
  check(polled([this] { return cudaEventQuery(stop_); }), device_, "running the model");
}

std::chrono::nanoseconds Clock::elapsed() const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start_, stop_), device_, "reading the clock");
  return std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace relucent::cuda
