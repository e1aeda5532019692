// Contexts of the CUDA driver: which GPU, and which of a process's handles to it, a thread works with. Host code.
#pragma once

#include "kernels/cuda/driver.h"

namespace relucent::cuda {

/// A context on the calling thread's stack of contexts until the end of the scope: the CUDA runtime and cublasLt work
/// in it meanwhile. What was current before, nothing or a context of the host's own, is current again afterwards on
/// every path, which cudaSetDevice() would not give: it puts the device's primary context in its place, and going back
/// to device 0 with it opens a context there.
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
  bool pushed_ = false;  // not where it was the current one already
};

/// `device`'s primary context, which it shares with every user of the CUDA runtime in this process, as the current one.
/// It is retained at its first use and then for the life of the process: the runtime and cublasLt keep code in it.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);

 private:
  CurrentContext current_;
};

/// `device`'s primary context for the length of a scope: closed again at the end, unless somebody else has it too. Not
/// for calls of the runtime, which remember it.
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
