// CUDA driver contexts, which determine the GPU that a thread uses and the process's state on it. Host code.
#pragma once

#include "kernels/cuda/driver.h"

namespace relucent::cuda {

/// Makes a context current on the calling thread until the end of the scope; the CUDA runtime and cublasLt work in it.
/// Afterwards the previous state, no context or one of the host's own, is restored on every path. cudaSetDevice()
/// cannot do that: it replaces the context with the device's primary context, and switching back to device 0 opens a
/// context there.
class CurrentContext {
 public:
  /// Errors name `device`. Throws Error `device`.
  CurrentContext(int device, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  void restore() const noexcept;

  const Driver& driver_;
  CUcontext before_ = nullptr;
  bool pushed_ = false;  // false if the context was current already
};

/// Makes `device`'s primary context current. All users of the CUDA runtime in this process share that context. It is
/// retained from its first use until the process ends, because the runtime and cublasLt keep code in it.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);

 private:
  CurrentContext current_;
};

/// `device`'s primary context until the end of a scope; closed then unless other code retains it. Not for calls of the
/// runtime, which would remember it.
class BorrowedContext {
 public:
  explicit BorrowedContext(int device);
  ~BorrowedContext();
  BorrowedContext(const BorrowedContext&) = delete;
  BorrowedContext& operator=(const BorrowedContext&) = delete;

  CUcontext get() const noexcept { return context_; }

 private:
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

}  // namespace relucent::cuda
