// Owning wrappers for the CUDA runtime's objects, and its return codes as Errors. Host code.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "relucent/error.h"

namespace relucent::cuda {

/// "cuda:N".
std::string device_name(int device);

/// "12.8" for 12080, as CUDA numbers its versions.
std::string cuda_version(int number);

/// Thrown by check() when memory runs out, so that the caller can retry with less.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Unless `error` is cudaSuccess, throws Error `device` naming the device, the operation and CUDA's message.
void check(cudaError_t error, int device, const std::string& operation);
/// The same for driver functions, whose codes equal the runtime's.
void check(CUresult error, int device, const std::string& operation);

/// Memory of the current device.
class DeviceMemory {
 public:
  /// Of 0 bytes: none. `what` names it in errors. Throws Error `device`.
  DeviceMemory(int device, std::size_t bytes, const std::string& what);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

/// Page-locked host memory, which the device can copy to and from without the CPU.
class PinnedMemory {
 public:
  /// Of 0 bytes: none.
  PinnedMemory(int device, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

/// A stream of the current device.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// For starting work on it.
  operator cudaStream_t() noexcept {
    pending_ = true;
    return stream_;
  }
  void copy_to_device(void* to, const void* from, std::size_t bytes);
  void copy_to_host(void* to, const void* from, std::size_t bytes);
  void copy_on_device(void* to, const void* from, std::size_t bytes);
  /// Waits for all started work. The thread yields to others while it polls; CUDA's own waits keep its core busy.
  void wait();
  /// The same after a failure; ignores further errors.
  void settle() noexcept;

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  bool pending_ = false;
};

/// Times a part of a stream's work, and waits for its end. For one part at a time.
class Clock {
 public:
  explicit Clock(int device);  ///< the current one
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  void start(Stream& stream);
  void stop(Stream& stream);
  /// Waits, like Stream::wait(), for what was started before stop(), not for later work.
  void wait();
  /// From start() to stop(); call it after wait().
  std::chrono::nanoseconds elapsed() const;

 private:
  void destroy() noexcept;

  int device_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace relucent::cuda
