// Every instruction that the emulator offers, against a plain computation from the PTX manual's tables.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cuda_emulator_support.h"

namespace relucent::emulator_test {
namespace {

using Instructions = EmulatorTest;

// ---- threads, blocks, barriers ----

__global__ void write_places(uint4* places) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  places[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      make_uint4(threadIdx.x | threadIdx.y << 16, threadIdx.z, blockIdx.x | blockIdx.y << 16, blockIdx.z);
}

TEST_F(Instructions, EveryThreadOfEveryBlockRunsOnceAndKnowsItsPlace) {
  const dim3 grid(3, 2, 5);
  const dim3 block(7, 3, 2);
  const unsigned threads = 42;
  const OnDevice<uint4> places(std::size_t{threads} * 30);
  ASSERT_EQ(run(write_places, grid, block, 0, places.get()), cudaSuccess);
  const std::vector<uint4> found = places.values();
  for (unsigned i = 0; i < found.size(); ++i) {
    const unsigned t = i % threads;
    const unsigned b = i / threads;
    EXPECT_EQ(found[i].x, t % 7 | t / 7 % 3 << 16);
    EXPECT_EQ(found[i].y, t / 21);
    EXPECT_EQ(found[i].z, b % 3 | b / 3 % 2 << 16);
    EXPECT_EQ(found[i].w, b / 6);
  }
}

__global__ void reverse_block(const int* from, int* to) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  const unsigned first = blockIdx.x * blockDim.x;
  shared[threadIdx.x] = from[first + threadIdx.x];
  __syncthreads();
  to[first + threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

TEST_F(Instructions, ABarrierOrdersSharedMemoryWhateverTheSeed) {
  std::vector<int> values(5 * 200);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int>(i);
  }
  const OnDevice<int> from(values);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulator::set_seed(seed);
    const OnDevice<int> to(values.size());
    ASSERT_EQ(run(reverse_block, 5, 200, 200 * sizeof(int), from.get(), to.get()), cudaSuccess);
    const std::vector<int> found = to.values();
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], values[i / 200 * 200 + 199 - i % 200]);
    }
  }
}

}  // namespace
}  // namespace relucent::emulator_test
