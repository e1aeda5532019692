// A program on the emulator, run by cuda_emulator_runtime.cpp under other settings of its environment: prints what it
// finds, and with the argument "race" runs a kernel with one.
#include <cstdio>
#include <string_view>

#include "cuda_runtime.h"
#include "instructions.h"

namespace {

__global__ void race(int* to) { *to = static_cast<int>(threadIdx.x); }

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  std::printf("%s, %d devices", cudaGetErrorName(counted), count);
  cudaDeviceProp properties;
  for (int i = 0; i < count && cudaGetDeviceProperties(&properties, i) == cudaSuccess; ++i) {
    std::printf("; %s %d.%d, %zu bytes", properties.name, properties.major, properties.minor,
                properties.totalGlobalMem);
  }
  int* memory = nullptr;
  for (int i = 0; i < 3; ++i) {
    std::printf("; %s", cudaGetErrorName(cudaMalloc(&memory, 4)));
  }
  if (argc > 1 && std::string_view(argv[1]) == "race") {
    relucent::cuda::launch(race, 1, 2, 0, nullptr, memory);
    std::printf("; %s", cudaGetErrorName(cudaStreamSynchronize(nullptr)));
  }
  std::printf("\n");
  return 0;
}
