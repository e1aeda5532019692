// The context functions of the CUDA driver, for which the runtime has no equivalent. Host code.
#pragma once

#include <cuda.h>

namespace relucent::cuda {

/// As declared in cuda.h. The module links the runtime, which finds the driver. If it linked libcuda itself, it could
/// not be loaded, nor report an error, on machines without a driver.
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

/// This machine's driver; finding it opens no context. Throws Error `device` naming `device`. Thread-safe.
const Driver& driver(int device);

}  // namespace relucent::cuda
