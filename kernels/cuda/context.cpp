#include "kernels/cuda/context.h"

#include <map>
#include <mutex>

#include "kernels/cuda/device.h"

namespace relucent::cuda {
namespace {

CUdevice handle_of(const Driver& functions, int device) {
  CUdevice handle = 0;
  check(functions.get_device(&handle, device), device, "choosing the device");
  return handle;
}

CUcontext kept_context(int device) {
  static std::mutex mutex;
  static std::map<int, CUcontext> kept;
  const Driver& functions = driver(device);
  const CUdevice handle = handle_of(functions, device);
  const std::lock_guard lock(mutex);
  CUcontext& context = kept[device];
  unsigned flags = 0;
  int active = 0;
  if (context != nullptr) check(functions.state_of_primary(handle, &flags, &active), device, "querying its context");
  if (active != 0) return context;
  // The first use, or the device was reset since.
  context = nullptr;
  check(functions.retain_primary(&context, handle), device, "opening a context");
  return context;
}

}  // namespace

CurrentContext::CurrentContext(int device, CUcontext context) : driver_(driver(device)) {
  check(driver_.get_current(&before_), device, "querying the thread's context");
  if (before_ == context) return;
  pushed_ = true;
  if (const CUresult error = driver_.push(context); error != CUDA_SUCCESS) {
    restore();
    check(error, device, "setting its context");
  }
}

CurrentContext::~CurrentContext() {
  if (!pushed_) return;
  CUcontext ours = nullptr;
  driver_.pop(&ours);
  restore();
}

// Push and pop may also return an earlier failure of the context, without a sign of whether they took effect.
void CurrentContext::restore() const noexcept {
  const auto is_restored = [this] {
    CUcontext now = nullptr;
    return driver_.get_current(&now) == CUDA_SUCCESS && now == before_;
  };
  if (is_restored()) return;
  driver_.set_current(nullptr);  // removes ours from the stack
  if (!is_restored()) driver_.set_current(before_);
}

CurrentDevice::CurrentDevice(int device) : current_(device, kept_context(device)) {}

BorrowedContext::BorrowedContext(int device) : driver_(driver(device)), device_(handle_of(driver_, device)) {
  check(driver_.retain_primary(&context_, device_), device, "opening a context");
}

BorrowedContext::~BorrowedContext() { driver_.release_primary(device_); }

}  // namespace relucent::cuda
