#include "kernels/cuda/driver.h"

#include <fmt/core.h>

#include <string>

#include "kernels/cuda/device.h"

namespace relucent::cuda {
namespace {

constexpr unsigned kVersion = 12000;  // of the functions' parameters: the oldest toolkit that this builds with

template <typename Function>
void find(const char* name, Function& function, int device) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  const std::string operation = fmt::format("looking for {} in the driver", name);
  check(error, device, operation);
  if (result != cudaDriverEntryPointSuccess || found == nullptr) check(cudaErrorInsufficientDriver, device, operation);
  function = reinterpret_cast<Function>(found);
}

Driver find_all(int device) {
  Driver all{};
  find("cuDeviceGet", all.get_device, device);
  find("cuDevicePrimaryCtxGetState", all.state_of_primary, device);
  find("cuDevicePrimaryCtxRetain", all.retain_primary, device);
  find("cuDevicePrimaryCtxRelease", all.release_primary, device);
  find("cuCtxPushCurrent", all.push, device);
  find("cuCtxPopCurrent", all.pop, device);
  find("cuCtxGetCurrent", all.get_current, device);
  find("cuCtxSetCurrent", all.set_current, device);
  find("cuMemGetInfo", all.memory, device);
  return all;
}

}  // namespace

const Driver& driver(int device) {
  static const Driver found = find_all(device);
  return found;
}

}  // namespace relucent::cuda
