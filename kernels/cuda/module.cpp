#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda_interface.h"

extern "C" __attribute__((visibility("default"))) const relucent::cuda::Module* relucent_cuda_module() noexcept {
  static constexpr relucent::cuda::Module module{relucent::cuda::kModuleAbi, RELUCENT_VERSION, relucent::cuda::devices,
                                                 relucent::cuda::make_backend, relucent::cuda::measure_peak};
  return &module;
}
