/// What the emulator's own tests share: device memory that is freed, and kernels launched and waited for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "instructions.h"
#include "tests/cuda_emulator/emulator.h"

namespace relucent::emulator_test {

/// n elements of device memory, with these values or unwritten.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t n) : size_(n) { EXPECT_EQ(cudaMalloc(&data_, n * sizeof(T)), cudaSuccess); }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }

  T* get() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(size_);
    EXPECT_EQ(cudaMemcpy(result.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Launches, waits, and returns the wait's result.
template <typename... P, typename... A>
cudaError_t run(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, A... arguments) {
  const cudaError_t launched = cuda::launch(kernel, grid, block, shared_bytes, nullptr, arguments...);
  return launched != cudaSuccess ? launched : cudaStreamSynchronize(nullptr);
}

/// Fresh devices before each test, and nothing reported or left alive after it.
class EmulatorTest : public ::testing::Test {
 protected:
  void SetUp() override { emulator::reset(); }
  void TearDown() override {
    for (const emulator::Report& report : emulator::reports()) {
      ADD_FAILURE() << emulator::to_string(report);
    }
    emulator::clear_reports();
    EXPECT_EQ(emulator::live_allocations(), 0U);
    EXPECT_EQ(emulator::live_pinned(), 0U);
    EXPECT_EQ(emulator::live_streams(), 0U);
    EXPECT_EQ(emulator::live_events(), 0U);
    EXPECT_EQ(emulator::live_graphs(), 0U);
    EXPECT_EQ(emulator::live_cublas_objects(), 0U);
  }
};

}  // namespace relucent::emulator_test
