// The functions of the CUDA driver that the runtime has no equal of: those of contexts. Host code.
#pragma once

#include <cuda.h>

namespace relucent::cuda {

/// As cuda.h declares them. The module links the runtime, which finds the driver; linking libcuda itself would keep the
/// module from being loaded, and its errors from being told, on machines without a driver.
struct Driver {
  decltype(&cuDeviceGet) get_device;
  decltype(&cuDevicePrimaryCtxGetState) state_of_primary;
  decltype(&cuDevicePrimaryCtxRetain) retain_primary;
  decltype(&cuDevicePrimaryCtxRelease) release_primary;
  decltype(&cuCtxPushCurrent) push;
  decltype(&cuCtxPopCurrent) pop;
  decltype(&cuCtxGetCurrent) get_current;
  decltype(&cuCtxSetCurrent) set_current;
  decltype(&cuMemGetInfo) memory;
};

/// The driver of this machine; finding it opens no context. Errors name `device`. Throws Error `device`. Thread-safe.
const Driver& driver(int device);

}  // namespace relucent::cuda
