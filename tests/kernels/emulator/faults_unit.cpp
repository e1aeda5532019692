// Each kind of mistake that a kernel or its host can make, made on purpose by a small kernel: the emulator has to
// report it, and to report nothing about the same kernel done right.
#include <cstring>

#include "tests/kernels/emulator/support.h"

namespace relucent::emulator_test {
namespace {

using emulator::Fault;

/// Expects exactly one kind of report from the last launch, with these words, and the launch to fail.
class Faults : public EmulatorTest {
 protected:
  void expect_fault(cudaError_t outcome, Fault fault, const std::vector<std::string>& words) {
    EXPECT_EQ(outcome, cudaErrorIllegalAddress);
    const std::vector<emulator::Report> found = emulator::reports();
    ASSERT_FALSE(found.empty());
    for (const emulator::Report& report : found) {
      EXPECT_EQ(report.fault, fault) << emulator::to_string(report);
    }
    for (const std::string& word : words) {
      EXPECT_NE(emulator::to_string(found.front()).find(word), std::string::npos)
          << emulator::to_string(found.front()) << "\n does not contain: " << word;
    }
    emulator::restore_device(0);
    emulator::clear_reports();
  }
  static void expect_good(cudaError_t outcome) {
    EXPECT_EQ(outcome, cudaSuccess);
    EXPECT_TRUE(emulator::reports().empty());
  }
};

// ---- bounds ----

__global__ void copy_one(const int* from, int* to, int read_at, int write_at) { to[write_at] = from[read_at]; }

TEST_F(Faults, AccessesPastEitherEndOfAnAllocation) {
  const OnDevice<int> from(std::vector<int>(5, 1));
  const OnDevice<int> to(std::vector<int>(3, 1));
  expect_good(run(copy_one, 1, 1, 0, from.get(), to.get(), 4, 2));
  expect_fault(run(copy_one, 1, 1, 0, from.get(), to.get(), 5, 0), Fault::out_of_bounds,
               {"copy_one", "a read of 4 bytes", "byte 20 of an allocation of 20 bytes", "block (0, 0, 0)"});
  expect_fault(run(copy_one, 1, 1, 0, from.get(), to.get(), 0, -1), Fault::out_of_bounds,
               {"a write of 4 bytes", "byte -4 of an allocation of 12 bytes"});
  expect_fault(run(copy_one, 1, 1, 0, from.get(), to.get(), 1 << 20, 0), Fault::out_of_bounds, {"a read of 4 bytes"});
  EXPECT_EQ(to.values(), std::vector<int>(3, 1));
}

TEST_F(Faults, AccessesToFreedMemory) {
  const OnDevice<int> to(std::vector<int>(1, 1));
  int* freed = nullptr;
  ASSERT_EQ(cudaMalloc(&freed, 64), cudaSuccess);
  ASSERT_EQ(cudaMemset(freed, 0, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  expect_fault(run(copy_one, 1, 1, 0, freed, to.get(), 0, 0), Fault::out_of_bounds, {"a read of 4 bytes"});
}

TEST_F(Faults, AccessesToAnotherDevicesMemory) {
  emulator::reset({.devices = 2});
  const OnDevice<int> here(std::vector<int>(1, 1));
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const OnDevice<int> there(std::vector<int>(1, 1));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  expect_fault(run(copy_one, 1, 1, 0, there.get(), here.get(), 0, 0), Fault::out_of_bounds,
               {"byte 0 of an allocation of 4 bytes, another device's"});
}

__global__ void write_shared(int at) { reinterpret_cast<int*>(cuda::shared_memory())[at] = 1; }

TEST_F(Faults, AccessesPastTheEndOfSharedMemory) {
  expect_good(run(write_shared, 1, 1, 40, 9));
  expect_fault(run(write_shared, 1, 1, 40, 10), Fault::out_of_bounds, {"byte 40 of 40 bytes of shared memory"});
  expect_fault(run(write_shared, 1, 1, 42, 10), Fault::out_of_bounds, {"byte 40 of 42 bytes of shared memory"});
}

struct Table {
  int values[64];
};
__global__ void read_argument(Table table, int* to) { to[threadIdx.x] = table.values[threadIdx.x]; }

constexpr int kSquares[] = {0, 1, 4, 9, 16, 25, 36, 49};
__global__ void read_constant(int* to) { to[threadIdx.x] = kSquares[threadIdx.x]; }

TEST_F(Faults, TheHostsMemoryIsOutOfReachButForArgumentsAndConstants) {
  const OnDevice<int> to(64);
  Table table{};
  table.values[63] = 5;
  expect_good(run(read_argument, 1, 64, 0, table, to.get()));
  EXPECT_EQ(to.values()[63], 5);
  expect_good(run(read_constant, 1, 8, 0, to.get()));
  EXPECT_EQ(to.values()[7], 49);
  std::vector<int> host(4, 1);
  expect_fault(run(copy_one, 1, 1, 0, host.data(), to.get(), 0, 0), Fault::host_memory,
               {"a read of the host's memory"});
  expect_fault(run(copy_one, 1, 1, 0, to.get(), host.data(), 7, 0), Fault::host_memory,
               {"a write to the host's memory"});
  EXPECT_EQ(host[0], 1);
}

TEST_F(Faults, TheHostIsNotToTouchDeviceMemory) {
  const OnDevice<int> memory(std::vector<int>(1, 3));
  EXPECT_EQ(*static_cast<volatile int*>(memory.get()), 3);
  const std::vector<emulator::Report> found = emulator::reports();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fault, Fault::device_memory);
  emulator::clear_reports();
}

// ---- alignment ----

__global__ void read_wide(const unsigned char* from, int offset, uint4* to) {
  *to = *reinterpret_cast<const uint4*>(from + offset);
}

__global__ void copy_wide(const unsigned char* from, int offset, int shared_offset) {
  cuda::cp_async_16(cuda::shared_memory() + shared_offset, from + offset, true);
  cuda::cp_async_commit();
  cuda::cp_async_wait<0>();
}

__global__ void load_rows(int offset) {
  for (unsigned i = threadIdx.x; i < 600; i += 32) {
    cuda::shared_memory()[i] = 0;
  }
  __syncthreads();
  std::uint32_t four[4];
  cuda::ldmatrix_x4(four, cuda::shared_memory() + threadIdx.x * 16 + offset);
}

TEST_F(Faults, WideAccessesThatAreNotAligned) {
  const OnDevice<unsigned char> from(std::vector<unsigned char>(64, 1));
  const OnDevice<uint4> to(1);
  expect_good(run(read_wide, 1, 1, 0, from.get(), 16, to.get()));
  expect_fault(run(read_wide, 1, 1, 0, from.get(), 8, to.get()), Fault::misaligned, {"byte 8", "not aligned to 16"});
  expect_good(run(copy_wide, 1, 1, 64, from.get(), 16, 32));
  expect_fault(run(copy_wide, 1, 1, 64, from.get(), 4, 32), Fault::misaligned, {"byte 4 of an allocation"});
  expect_fault(run(copy_wide, 1, 1, 64, from.get(), 16, 8), Fault::misaligned, {"byte 8 of 64 bytes of shared memory"});
  expect_good(run(load_rows, 1, 32, 600, 16));
  expect_fault(run(load_rows, 1, 32, 600, 8), Fault::misaligned, {"not aligned to 16"});
  expect_fault(run(load_rows, 1, 32, 600, 96), Fault::out_of_bounds, {"of 600 bytes of shared memory"});
}

// ---- bytes never written ----

__global__ void sum_shared(int* to, int filled) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  if (static_cast<int>(threadIdx.x) < filled) {
    shared[threadIdx.x] = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) {
      sum += shared[i];
    }
    to[blockIdx.x] = sum;
  }
}

TEST_F(Faults, ReadsOfBytesNeverWritten) {
  const OnDevice<int> to(2);
  expect_good(run(sum_shared, 1, 64, 256, to.get(), 64));
  expect_fault(run(sum_shared, 1, 64, 256, to.get(), 63), Fault::uninitialised,
               {"read but never written: byte 252 of 256 bytes of shared memory", "thread (0, 0, 0)"});
  const OnDevice<int> fresh(4);
  expect_fault(run(copy_one, 1, 1, 0, fresh.get(), to.get(), 3, 0), Fault::uninitialised,
               {"byte 12 of an allocation of 16"});
  // Shared memory of one block is none of the next one's.
  expect_fault(run(sum_shared, 2, 64, 256, to.get(), 0), Fault::uninitialised, {"shared memory"});
  int host = 0;
  expect_fault(cudaMemcpy(&host, OnDevice<int>(1).get(), 4, cudaMemcpyDeviceToHost), Fault::uninitialised,
               {"cudaMemcpy"});
}

__global__ void read_too_early(const unsigned char* from, unsigned char* to, int wait) {
  cuda::cp_async_16(cuda::shared_memory(), from, true);
  cuda::cp_async_commit();
  if (wait == 1) {
    cuda::cp_async_wait<1>();
  } else if (wait == 0) {
    cuda::cp_async_wait<0>();
  }
  *to = cuda::shared_memory()[3];
}

TEST_F(Faults, ReadsBeforeAnAsynchronousCopyHasArrived) {
  const OnDevice<unsigned char> from(std::vector<unsigned char>(16, 9));
  const OnDevice<unsigned char> to(1);
  expect_good(run(read_too_early, 1, 1, 16, from.get(), to.get(), 0));
  EXPECT_EQ(to.values()[0], 9);
  expect_fault(run(read_too_early, 1, 1, 16, from.get(), to.get(), 1), Fault::uninitialised,
               {"before its cp.async was waited for"});
  expect_fault(run(read_too_early, 1, 1, 16, from.get(), to.get(), 2), Fault::uninitialised,
               {"before its cp.async was waited for"});
}

// Two copies into a buffer, `distance` bytes apart, of which the first may be waited for before the second begins.
__global__ void copy_twice(const unsigned char* from, int distance, bool wait) {
  cuda::cp_async_16(cuda::shared_memory(), from, true);
  cuda::cp_async_commit();
  if (wait) {
    cuda::cp_async_wait<0>();
  }
  cuda::cp_async_16(cuda::shared_memory() + distance, from, distance != 0);
  cuda::cp_async_commit();
  cuda::cp_async_wait<0>();
}

__global__ void store_into_a_copy(const unsigned char* from, bool wait) {
  cuda::cp_async_16(cuda::shared_memory(), from, true);
  if (wait) {
    cuda::cp_async_commit();
    cuda::cp_async_wait<0>();
  }
  cuda::shared_memory()[7] = 1;
  cuda::cp_async_commit();
  cuda::cp_async_wait<0>();
}

TEST_F(Faults, ADestinationThatIsAlreadyOnItsWay) {
  const OnDevice<unsigned char> from(std::vector<unsigned char>(16, 9));
  expect_good(run(copy_twice, 1, 1, 32, from.get(), 16, false));
  expect_good(run(copy_twice, 1, 1, 32, from.get(), 0, true));
  expect_fault(run(copy_twice, 1, 1, 32, from.get(), 0, false), Fault::race,
               {"copy_twice", "written while a cp.async to it is on its way: byte 0 of 32 bytes of shared memory"});
  expect_good(run(store_into_a_copy, 1, 1, 16, from.get(), true));
  expect_fault(run(store_into_a_copy, 1, 1, 16, from.get(), false), Fault::race,
               {"written while a cp.async to it is on its way: byte 7 of 16 bytes of shared memory"});
}

// ---- races ----

enum class Between { nothing, warp_barrier, block_barrier };
__device__ void pause(Between between) {
  if (between == Between::warp_barrier) {
    __syncwarp();
  } else if (between == Between::block_barrier) {
    __syncthreads();
  }
}

// Every thread writes its own and reads the one `shift` further on.
__global__ void read_neighbour(Between between, unsigned shift, int* to) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  shared[threadIdx.x] = 1;
  pause(between);
  to[threadIdx.x] = shared[(threadIdx.x + shift) % blockDim.x];
}

TEST_F(Faults, WritesAndReadsOfSharedMemoryWithNoBarrierBetween) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    emulator::set_seed(seed);
    const OnDevice<int> to(64);
    expect_good(run(read_neighbour, 1, 64, 256, Between::block_barrier, 1U, to.get()));
    expect_good(run(read_neighbour, 1, 64, 256, Between::nothing, 0U, to.get()));
    expect_good(run(read_neighbour, 1, 32, 128, Between::warp_barrier, 1U, to.get()));
    // In order, or read before it was written at all, as the seed has it.
    for (const unsigned threads : {32U, 64U}) {
      const Between between = threads == 32 ? Between::nothing : Between::warp_barrier;
      EXPECT_EQ(run(read_neighbour, 1, threads, 256, between, 32U * (threads / 64) + 1, to.get()),
                cudaErrorIllegalAddress);
      bool race = false;
      for (const emulator::Report& report : emulator::reports()) {
        race = race || (report.fault == Fault::race && report.message.find("no barrier between") != std::string::npos);
      }
      EXPECT_TRUE(race);
      emulator::restore_device(0);
      emulator::clear_reports();
    }
  }
}

// The barrier comes too early: between nothing and nothing.
__global__ void synchronise_then_exchange(int* to) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  shared[threadIdx.x] = 0;
  __syncwarp();
  shared[threadIdx.x] = 1;
  to[threadIdx.x] = shared[threadIdx.x ^ 1];
}

TEST_F(Faults, ABarrierOrdersWhatCameBeforeItAndNotWhatComesAfter) {
  const OnDevice<int> to(32);
  expect_fault(run(synchronise_then_exchange, 1, 32, 128, to.get()), Fault::race, {"of 128 bytes of shared memory"});
}

// All read a word; then one thread writes it.
__global__ void overwrite(Between between) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  if (threadIdx.x == 0) {
    shared[0] = 1;
  }
  __syncthreads();
  const int all = shared[0];
  pause(between);
  if (threadIdx.x == 5) {
    shared[0] = all + 1;
  }
}

TEST_F(Faults, AWriteAfterOthersReadsWithNoBarrierBetween) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    emulator::set_seed(seed);
    expect_good(run(overwrite, 1, 64, 4, Between::block_barrier));
    expect_good(run(overwrite, 1, 32, 4, Between::warp_barrier));
    expect_fault(run(overwrite, 1, 32, 4, Between::nothing), Fault::race, {"byte 0 of 4 bytes of shared memory"});
    expect_fault(run(overwrite, 1, 64, 4, Between::warp_barrier), Fault::race, {"byte 0 of 4 bytes of shared memory"});
  }
}

__global__ void write_bytes(int step) {
  reinterpret_cast<std::uint16_t*>(cuda::shared_memory())[static_cast<int>(threadIdx.x) * step] = 1;
}

TEST_F(Faults, TwoThreadsWriteTheSameBytesButMayWriteNeighbouringOnes) {
  expect_good(run(write_bytes, 1, 64, 128, 1));
  expect_fault(run(write_bytes, 1, 64, 128, 0), Fault::race, {"written as by thread", "byte 0 of 128"});
}

__global__ void write_at(int* to, int per_block, int per_thread) {
  to[static_cast<int>(blockIdx.x) * per_block + static_cast<int>(threadIdx.x) * per_thread] = 1;
}
__global__ void read_all_write_own(const int* from, int* to, int blocks) {
  int sum = 0;
  for (int i = 0; i < blocks; ++i) {
    sum += from[i];
  }
  to[blockIdx.x] = sum;
}

TEST_F(Faults, BlocksOfOneLaunchAreNotOrdered) {
  const OnDevice<int> to(std::vector<int>(8, 0));
  const OnDevice<int> from(std::vector<int>(8, 1));
  expect_good(run(write_at, 8, 1, 0, to.get(), 1, 0));
  expect_good(run(write_at, 8, 1, 0, to.get(), 1, 0));  // launches of one stream are
  expect_fault(run(write_at, 8, 1, 0, to.get(), 0, 0), Fault::race, {"of block (", "byte 0 of an allocation of 32"});
  expect_fault(run(write_at, 1, 8, 0, to.get(), 0, 0), Fault::race, {"thread (", "byte 0 of an allocation of 32"});
  expect_good(run(read_all_write_own, 8, 1, 0, from.get(), to.get(), 8));
  expect_fault(run(read_all_write_own, 8, 1, 0, to.get(), to.get(), 8), Fault::race, {"block ("});
}

__global__ void rotate_in_global(int* data, Between between) {
  const int mine = data[(threadIdx.x + 1) % blockDim.x];
  pause(between);
  data[threadIdx.x] = mine;
}

TEST_F(Faults, ABarrierOrdersABlocksAccessesToGlobalMemory) {
  const OnDevice<int> data(std::vector<int>(96, 0));
  expect_good(run(rotate_in_global, 1, 96, 0, data.get(), Between::block_barrier));
  expect_fault(run(rotate_in_global, 1, 96, 0, data.get(), Between::warp_barrier), Fault::race,
               {"an allocation of 384"});
}

__global__ void reuse_copied(const unsigned char* from) {
  cuda::cp_async_16(cuda::shared_memory() + 16 * threadIdx.x, from, true);
  cuda::cp_async_commit();
  cuda::cp_async_wait<0>();
  // Each thread has waited for its own copy alone.
  if (threadIdx.x == 1) {
    cuda::shared_memory()[0] = 1;
  }
}

TEST_F(Faults, AWaitOrdersAThreadsOwnCopiesAlone) {
  const OnDevice<unsigned char> from(std::vector<unsigned char>(16, 9));
  expect_fault(run(reuse_copied, 1, 2, 32, from.get()), Fault::race, {"byte 0 of 32 bytes"});
}

// Two million barriers use up the stamps of the shadow.
__global__ void many_barriers(int times, int* to, bool race) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  for (int i = 0; i < times; ++i) {
    if (threadIdx.x == static_cast<unsigned>(i) % 2) {
      shared[0] = i;
    }
    __syncthreads();
    if (shared[0] != i) {
      *to = i;
    }
    __syncthreads();
  }
  if (race) {
    *to = static_cast<int>(threadIdx.x);
  }
}

TEST_F(Faults, BarriersBeyondTheShadowsNumbersAreStillBarriers) {
  const OnDevice<int> to(std::vector<int>(1, -1));
  expect_good(run(many_barriers, 1, 2, 4, 1100000, to.get(), false));
  EXPECT_EQ(to.values()[0], -1);
  expect_fault(run(many_barriers, 1, 2, 4, 1100000, to.get(), true), Fault::race, {"written as by thread"});
  expect_fault(run(overwrite, 1, 64, 4, Between::nothing), Fault::race, {"shared memory"});
}

// ---- divergence ----

__global__ void barrier_for_some(unsigned some) {
  if (threadIdx.x < some) {
    __syncthreads();
  }
}
__global__ void two_barriers(unsigned some) {
  if (threadIdx.x < some) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
__global__ void shuffle_among(unsigned mask, unsigned lanes, int* to) {
  if (threadIdx.x < lanes) {
    *to = __shfl_xor_sync(mask, 1, 1);
  }
}
__global__ void shuffle_and_vote() {
  if (threadIdx.x % 2 == 0) {
    __shfl_xor_sync(0xffffffffU, 1, 1);
  } else {
    __any_sync(0xffffffffU, 1);
  }
}

TEST_F(Faults, BarriersAndWarpInstructionsThatNotAllReach) {
  expect_good(run(barrier_for_some, 1, 64, 0, 64U));
  expect_fault(run(barrier_for_some, 1, 64, 0, 40U), Fault::divergence,
               {"no thread can continue: threads 0-39 wait at __syncthreads; threads 40-63 ended"});
  expect_fault(run(two_barriers, 1, 32, 0, 4U), Fault::divergence,
               {"threads 0-3 wait at __syncwarp", "4-31 wait at __syncthreads"});
  const OnDevice<int> to(1);
  expect_fault(run(shuffle_among, 1, 32, 0, 0xffffffffU, 31U, to.get()), Fault::divergence,
               {"threads 0-30 wait at a shuffle"});
  expect_fault(run(shuffle_among, 1, 32, 0, 0x3U, 3U, to.get()), Fault::divergence, {"leaves out the calling lane"});
  expect_fault(run(shuffle_among, 1, 24, 0, 0xffffffffU, 32U, to.get()), Fault::divergence,
               {"threads 0-23 wait at a shuffle"});
  expect_fault(run(shuffle_and_vote, 1, 32, 0), Fault::divergence, {" meets lane "});
}

// ---- the host's staging memory ----

TEST_F(Faults, PinnedMemoryTouchedWhileACopyIsUnderWay) {
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  const OnDevice<int> memory(16);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (int i = 0; i < 16; ++i) {
    pinned[i] = i;
  }
  ASSERT_EQ(cudaMemcpyAsync(memory.get(), pinned, 64, cudaMemcpyHostToDevice, stream), cudaSuccess);
  EXPECT_EQ(static_cast<volatile int*>(pinned)[2], 2);  // reading its source is all right
  expect_good(cudaStreamSynchronize(stream));

  // Reused too early, by a function of the C library, which nothing watches.
  ASSERT_EQ(cudaMemcpyAsync(memory.get(), pinned, 64, cudaMemcpyHostToDevice, stream), cudaSuccess);
  std::memset(pinned, 1, 64);
  expect_fault(cudaStreamSynchronize(stream), Fault::staging, {"changed before they had been copied"});

  // Written by watched code.
  ASSERT_EQ(cudaMemcpyAsync(memory.get(), pinned, 64, cudaMemcpyHostToDevice, stream), cudaSuccess);
  static_cast<volatile int*>(pinned)[3] = 7;
  expect_fault(cudaStreamSynchronize(stream), Fault::staging, {"pinned memory is written"});

  // Read before the result has come.
  ASSERT_EQ(cudaMemcpyAsync(pinned, memory.get(), 64, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_NE(static_cast<volatile int*>(pinned)[3], 3);
  expect_fault(cudaErrorIllegalAddress, Fault::staging, {"pinned memory is read"});
  expect_good(cudaStreamSynchronize(stream));
  EXPECT_EQ(static_cast<volatile int*>(pinned)[3], 3);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Faults, ALaunchTellsOfAFewOfItsFaultsOnly) {
  const OnDevice<int> to(1000);
  const OnDevice<int> fresh(1000);
  EXPECT_EQ(run(read_all_write_own, 1, 1, 0, fresh.get(), to.get(), 1000), cudaErrorIllegalAddress);
  const std::vector<emulator::Report> found = emulator::reports();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_NE(found.back().message.find("more of the kind in this launch is left out"), std::string::npos);
  emulator::restore_device(0);
  emulator::clear_reports();
}

}  // namespace
}  // namespace relucent::emulator_test
