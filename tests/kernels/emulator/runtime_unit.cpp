// The runtime's side of the emulator: devices, memory, streams, errors that stick, failures on demand.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <thread>

#include "cublasLt.h"
#include "cuda.h"
#include "tests/kernels/emulator/support.h"

namespace relucent::emulator_test {
namespace {

using Runtime = EmulatorTest;

__global__ void add(int* to, int value) { *to += value; }
__global__ void nothing() {}
__global__ void write_to(int* to) { *to = 1; }

// ---- devices and drivers ----

TEST_F(Runtime, DevicesAreWhatTheOptionsSay) {
  emulator::reset({.devices = 2, .name = "One", .names = {"One", "Other"}, .major = 9, .memory = 1 << 20});
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_STREQ(properties.name, "Other");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.totalGlobalMem, 1U << 20);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 227U * 1024);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  int current = 0;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 1);
  std::thread([] {
    int elsewhere = 9;
    EXPECT_EQ(cudaGetDevice(&elsewhere), cudaSuccess);
    EXPECT_EQ(elsewhere, 0) << "the current device is each thread's own";
  }).join();
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(Runtime, NoDriverAnOldDriverAndNoDevice) {
  int count = 7;
  int version = 7;
  void* memory = nullptr;
  cublasLtHandle_t handle = nullptr;
  for (const int driver : {0, 12080}) {
    emulator::reset({.driver = driver});
    EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    EXPECT_EQ(version, driver);
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(count, 7) << "what fails writes nothing";
    EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorInsufficientDriver);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorInsufficientDriver);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInsufficientDriver);
    EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
  }
  emulator::reset({.devices = 0});
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorNoDevice);
  EXPECT_EQ(cudaFree(nullptr), cudaErrorNoDevice);
  emulator::reset();
}

// ---- contexts ----

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(Runtime, LookingAtDevicesOpensNoContextAndUsingThemDoes) {
  emulator::reset({.devices = 2});
  int number = 0;
  cudaDeviceProp properties;
  void* memory = nullptr;
  EXPECT_EQ(cudaGetDeviceCount(&number), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_FALSE(emulator::had_context(0) || emulator::had_context(1));
  EXPECT_EQ(current(), nullptr);
  EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  EXPECT_TRUE(emulator::has_context(0)) << "the device that nobody has chosen";
  EXPECT_NE(current(), nullptr);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_FALSE(emulator::had_context(1));
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_TRUE(emulator::has_context(1)) << "choosing a device opens its context";
}

TEST_F(Runtime, ChoosingADeviceReplacesAHostsContextAndPushingDoesNot) {
  emulator::reset({.devices = 2});
  CUcontext own = nullptr, primary = nullptr, popped = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(current(), own);
  int device = 7;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(primary), CUDA_SUCCESS);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1) << "the runtime works in the current context";
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, stream), cudaSuccess);
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, primary);
  EXPECT_EQ(current(), own);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, stream), cudaErrorInvalidResourceHandle) << "of another context";
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
  EXPECT_FALSE(emulator::has_context(1));
  EXPECT_EQ(cuCtxPushCurrent(primary), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_FALSE(emulator::had_context(0)) << "a host's own context is not the primary one";
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_NE(current(), own);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
}

// ---- memory ----

TEST_F(Runtime, MemoryRunsOutAndComesBack) {
  emulator::reset({.devices = 2, .memory = 1 << 20});
  std::size_t free = 0, total = 0;
  void *most = nullptr, *more = nullptr, *rest = nullptr;
  ASSERT_EQ(cudaMalloc(&most, (1 << 20) - 1000), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 1000), cudaErrorMemoryAllocation);  // 256 bytes at a time
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 768U);
  EXPECT_EQ(total, 1U << 20);
  ASSERT_EQ(cudaMalloc(&rest, 768), cudaSuccess);
  EXPECT_EQ(emulator::live_bytes(0), 1U << 20);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&more, 1000), cudaSuccess) << "each device has its own";
  EXPECT_EQ(emulator::live_allocations(), 3U);
  EXPECT_EQ(cudaFree(most), cudaSuccess);
  EXPECT_EQ(emulator::live_bytes(0), 768U);
  EXPECT_EQ(emulator::live_bytes(1), 1024U);
  EXPECT_EQ(cudaFree(rest), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaErrorInvalidValue) << "freed twice";
  EXPECT_EQ(cudaMalloc(&more, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&more, 0), cudaErrorInvalidValue) << "what CUDA answers is not documented";
  EXPECT_EQ(cudaMalloc(&more, ~std::size_t{0}), cudaErrorMemoryAllocation);
  emulator::reset({.memory = 1000});
  EXPECT_EQ(cudaMalloc(&more, 900), cudaErrorMemoryAllocation);
  emulator::reset();
}

TEST_F(Runtime, AddressesAreAlignedAndNotReused) {
  std::set<void*> seen;
  for (int i = 1; i < 200; ++i) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, static_cast<std::size_t>(i) * 37), cudaSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0U);
    EXPECT_TRUE(seen.insert(memory).second);
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
  }
}

TEST_F(Runtime, CopiesCarryWhatIsWrittenAndWhatIsNot) {
  const OnDevice<int> from(std::vector<int>{1, 2, 3, 4});
  const OnDevice<int> to(4);
  ASSERT_EQ(cudaMemcpy(to.get(), from.get(), 8, cudaMemcpyDeviceToDevice), cudaSuccess);
  std::vector<int> host(2);
  ASSERT_EQ(cudaMemcpy(host.data(), to.get(), 8, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host, (std::vector<int>{1, 2}));
  EXPECT_TRUE(emulator::reports().empty());
  EXPECT_EQ(cudaMemcpy(host.data(), to.get(), 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(emulator::reports().size(), 1U);
  emulator::clear_reports();
  EXPECT_EQ(cudaMemcpy(to.get(), host.data(), 17, cudaMemcpyHostToDevice), cudaErrorIllegalAddress);
  EXPECT_EQ(emulator::reports().size(), 1U);
  emulator::clear_reports();
  emulator::restore_device(0);
}

// ---- streams and events ----

TEST_F(Runtime, AStreamDoesNothingUntilSomebodyWaits) {
  const OnDevice<int> memory(std::vector<int>{1});
  cudaStream_t stream = nullptr, other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(emulator::live_streams(), 2U);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 4), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 1);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 1);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 5);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 4), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 9);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorInvalidResourceHandle);
}

TEST_F(Runtime, TheDefaultStreamWaitsForStreamsThatWaitForIt) {
  const OnDevice<int> memory(std::vector<int>{1});
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 4), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 5);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Runtime, PageableMemoryIsCopiedAtOnceAndResultsHaveComeOnReturn) {
  const OnDevice<int> memory(1);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  int host = 5;
  ASSERT_EQ(cudaMemcpyAsync(memory.get(), &host, 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
  host = 6;
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 1), cudaSuccess);
  int result = 0;
  ASSERT_EQ(cudaMemcpyAsync(&result, memory.get(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(result, 6);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Runtime, EventsMarkAPlaceInAStream) {
  const OnDevice<int> memory(std::vector<int>{1});
  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  EXPECT_EQ(emulator::live_events(), 2U);
  ASSERT_EQ(cudaEventRecord(begin, stream), cudaSuccess);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 1), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 10), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 2) << "what comes after the event has not run";
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  ASSERT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, end), cudaSuccess);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, other, memory.get(), 100), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 112);
  EXPECT_EQ(cudaEventDestroy(begin), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

// ---- launches and their limits ----

TEST_F(Runtime, CapturedLaunchesRunAsOftenAsTheirGraphIsLaunched) {
  cudaStream_t stream = nullptr;
  int* number = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&number, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemset(number, 0, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cuda::launch(add, dim3(1), dim3(1), 0, stream, number, 3), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(emulator::live_graphs(), 1U);
  int found = -1;
  const auto read = [&] { return cudaMemcpy(&found, number, sizeof(int), cudaMemcpyDeviceToHost); };
  EXPECT_EQ(read(), cudaSuccess);
  EXPECT_EQ(found, 0) << "a capture runs nothing";
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(read(), cudaSuccess);
  EXPECT_EQ(found, 6);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaErrorInvalidValue);
  EXPECT_EQ(emulator::live_graphs(), 0U);
  EXPECT_EQ(cudaFree(number), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Runtime, ACaptureIsSpoiltByItsOwnThreadsOtherCalls) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  int* number = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&number, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  std::thread([] {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }).join();
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  const std::function<cudaError_t()> calls[] = {[&] { return cudaStreamQuery(stream); },
                                                [&] { return cudaMemsetAsync(number, 0, 4, stream); },
                                                [&] { return cudaDeviceSynchronize(); }};
  for (const auto& call : calls) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  }
  EXPECT_EQ(emulator::live_graphs(), 0U);
  EXPECT_EQ(cudaFree(number), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Runtime, LaunchesBeyondTheDevicesLimitsAreRefused) {
  EXPECT_EQ(run(nothing, 1, 1024, 48 * 1024), cudaSuccess);
  EXPECT_EQ(run(nothing, 1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, 1, dim3(32, 33), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, 1, dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, 1, 0, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, 0, 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, dim3(1, 65536), 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, dim3(1, 1, 65536), 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(nothing, 65536 + 4, 1, 0), cudaSuccess);
  EXPECT_EQ(run(nothing, 1, 1, 48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 163 * 1024 + 1),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024), cudaSuccess);
  EXPECT_EQ(run(nothing, 1, 1, 100 * 1024), cudaSuccess);
  EXPECT_EQ(run(nothing, 1, 1, 100 * 1024 + 1), cudaErrorInvalidValue);
  const OnDevice<int> memory(std::vector<int>{1});
  EXPECT_EQ(run(add, 1, 1, 100 * 1024, memory.get(), 1), cudaErrorInvalidValue) << "raised for another kernel";
  cudaGetLastError();
}

TEST_F(Runtime, AStreamOfAnotherDeviceIsRefused) {
  emulator::reset({.devices = 2});
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, stream), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// ---- errors ----

TEST_F(Runtime, AFaultSticksToItsDeviceUntilItIsReset) {
  emulator::reset({.devices = 2});
  void* memory = nullptr;
  EXPECT_EQ(cuda::launch(write_to, 1, 1, 0, nullptr, reinterpret_cast<int*>(16)), cudaSuccess)
      << "launches do not wait";
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorIllegalAddress);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(run(nothing, 1, 1, 0), cudaSuccess) << "the other device is well";
  EXPECT_EQ(emulator::reports().size(), 1U);
  emulator::reset();
  EXPECT_EQ(run(nothing, 1, 1, 0), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, WhatFollowsAFaultInItsStreamIsNotRun) {
  const OnDevice<int> memory(std::vector<int>{1});
  ASSERT_EQ(cuda::launch(write_to, 1, 1, 0, nullptr, reinterpret_cast<int*>(16)), cudaSuccess);
  ASSERT_EQ(cuda::launch(add, 1, 1, 0, nullptr, memory.get(), 1), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
  emulator::restore_device(0);
  emulator::clear_reports();
  EXPECT_EQ(memory.values()[0], 1);
}

TEST_F(Runtime, WorkContinuesWhileACallerPolls) {
  const OnDevice<int> memory(std::vector<int>{0});
  cudaStream_t stream = nullptr;
  cudaEvent_t first = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&first), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(first), cudaSuccess) << "it was never recorded";
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 1), cudaSuccess);
    if (i == 0) {
      ASSERT_EQ(cudaEventRecord(first, stream), cudaSuccess);
    }
  }
  EXPECT_EQ(cudaEventQuery(first), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(first), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(memory.values()[0], 3);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "not being ready is not an error";
  EXPECT_EQ(cudaEventDestroy(first), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Runtime, ALostDeviceFailsAtEveryCallAndStillLetsGo) {
  void *memory = nullptr, *pinned = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cublasLtHandle_t handle = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 8), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
  emulator::lose_device(0);
  EXPECT_NE(cudaMemsetAsync(memory, 0, 8, stream), cudaSuccess);
  EXPECT_NE(cudaMemcpy(memory, pinned, 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_NE(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_NE(cudaEventDestroy(event), cudaSuccess);
  EXPECT_NE(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_NE(cudaFree(memory), cudaSuccess);
  EXPECT_NE(cudaFreeHost(pinned), cudaSuccess);
  cublasLtDestroy(handle);
  EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
  emulator::restore_device(0);
  EXPECT_EQ(run(nothing, 1, 1, 0), cudaSuccess);
}

TEST_F(Runtime, TheNthCallFailsOnDemand) {
  void* memory[4] = {};
  emulator::fail("cudaMalloc", 3);
  EXPECT_EQ(cudaMalloc(&memory[0], 8), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory[1], 8), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory[2], 8), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory[2], nullptr);
  EXPECT_EQ(cudaMalloc(&memory[2], 8), cudaSuccess);
  for (void* each : memory) {
    EXPECT_EQ(cudaFree(each), cudaSuccess);
  }
  emulator::fail("cudaLaunchKernel", 1, cudaErrorLaunchFailure, true);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, nullptr), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaMalloc(&memory[0], 8), cudaErrorLaunchFailure);
  emulator::restore_device(0);
  EXPECT_EQ(cuda::launch(nothing, 1, 1, 0, nullptr), cudaSuccess);
  const auto counted = emulator::calls();
  EXPECT_EQ(counted.at("cudaMalloc"), 5U);
  EXPECT_EQ(counted.at("cudaLaunchKernel"), 2U);
  emulator::clear_calls();
  EXPECT_TRUE(emulator::calls().empty());
}

void use_contexts() {
  CUcontext context = nullptr;
  CUdevice device = 0;
  unsigned flags = 0;
  int active = 0;
  std::size_t bytes = 0;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result;
  cudaGetDriverEntryPointByVersion("cuCtxPushCurrent", &function, 12000, cudaEnableDefault, &result);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxGetState(device, &flags, &active);
  if (cuCtxCreate(&context, nullptr, 0, device) == CUDA_SUCCESS) {
    cuCtxDestroy(context);
  }
  if (cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS) {
    cuCtxPushCurrent(context);
    cuMemGetInfo(&bytes, &bytes);
    cuCtxPopCurrent(&context);
    cuDevicePrimaryCtxRelease(device);
  }
  cuDevicePrimaryCtxReset(device);
  cuCtxGetCurrent(&context);
  cuCtxSetCurrent(nullptr);
}

// Every function of the API once, so that whoever enumerates calls() can make each of them fail.
void use_everything() {
  int number = 0;
  std::size_t bytes = 0;
  float milliseconds = 0;
  cudaDeviceProp properties;
  void *memory = nullptr, *pinned = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDescOpaque_t descriptions[1];
  cublasLtMatrixLayoutOpaque_t layouts[1];
  cublasLtMatmulPreferenceOpaque_t preferences[1];
  cublasLtMatmulDesc_t const description = descriptions;
  cublasLtMatrixLayout_t const layout = layouts;
  cublasLtMatmulPreference_t const preference = preferences;
  cublasLtMatmulHeuristicResult_t result = {};
  const float one = 1;
  cudaDriverGetVersion(&number);
  cudaRuntimeGetVersion(&number);
  cudaGetDeviceCount(&number);
  cudaGetDeviceProperties(&properties, 0);
  cudaSetDevice(0);
  cudaGetDevice(&number);
  use_contexts();
  cudaMemGetInfo(&bytes, &bytes);
  cudaMalloc(&memory, 64);
  cudaMallocHost(&pinned, 64);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 64);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  if (stream != nullptr && cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    cudaStreamEndCapture(stream, &graph);
  }
  if (graph != nullptr) {
    cudaGraphInstantiate(&executable, graph);
    cudaGraphLaunch(executable, stream);
    cudaGraphDestroy(graph);
    cudaGraphExecDestroy(executable);
  }
  if (memory != nullptr && pinned != nullptr) {
    cudaMemset(memory, 0, 64);
    cudaMemsetAsync(memory, 0, 64, stream);
    cudaMemcpy(memory, pinned, 64, cudaMemcpyHostToDevice);
    cudaMemcpyAsync(memory, pinned, 64, cudaMemcpyHostToDevice, stream);
  }
  cuda::launch(nothing, 1, 1, 0, stream);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(stream, event);
  cudaEventSynchronize(event);
  cudaEventQuery(event);
  cudaEventElapsedTime(&milliseconds, event, event);
  cudaStreamSynchronize(stream);
  cudaStreamQuery(stream);
  cudaDeviceSynchronize();
  cublasLtCreate(&handle);
  cublasLtMatmulDescInit(description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &number, 4);
  cublasLtMatmulDescGetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &number, 4, &bytes);
  cublasLtMatrixLayoutInit(layout, CUDA_R_32F, 1, 1, 1);
  cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &bytes, 8);
  cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &bytes, 8, nullptr);
  cublasLtMatmulPreferenceInit(preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, 8);
  cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, 8, nullptr);
  cublasLtMatmulAlgoGetHeuristic(handle, description, layout, layout, layout, layout, preference, 1, &result, &number);
  cublasLtMatmulAlgoConfigGetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_ID, &number, 4, &bytes);
  cublasLtMatmulAlgoConfigSetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &number, 4);
  cublasLtMatmulAlgoCheck(handle, description, layout, layout, layout, layout, &result.algo, &result);
  cublasLtMatmul(handle, description, &one, memory, layout, memory, layout, &one, memory, layout, nullptr, layout,
                 &result.algo, nullptr, 0, stream);
  cublasLtDestroy(handle);
  cudaStreamSynchronize(stream);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaFreeHost(pinned);
  cudaFree(memory);
  cudaPeekAtLastError();
  cudaGetLastError();
}

TEST_F(Runtime, EveryCallCanBeMadeToFailAndNothingIsLeftAlive) {
  use_everything();
  const auto counted = emulator::calls();
  EXPECT_EQ(counted.size(), 66U) << "use_everything() has to make every call of the API";
  for (const auto& [call, times] : counted) {
    for (const bool sticky : {false, true}) {
      emulator::reset();
      emulator::fail(call, 1, 0, sticky);
      use_everything();
      EXPECT_EQ(emulator::live_allocations() + emulator::live_pinned() + emulator::live_streams() +
                    emulator::live_events() + emulator::live_graphs() + emulator::live_cublas_objects(),
                0U)
          << call;
    }
  }
  emulator::clear_reports();
}

TEST_F(Runtime, ThreadsMayCallAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      const OnDevice<int> memory(std::vector<int>{0});
      cudaStream_t stream = nullptr;
      ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
      for (int j = 0; j < 50; ++j) {
        ASSERT_EQ(cuda::launch(add, 1, 1, 0, stream, memory.get(), 1), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      }
      EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
      EXPECT_EQ(memory.values()[0], 50);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// ---- settings from the environment, and what is printed at the end ----

std::string run_probe(const std::string& settings, const std::string& arguments) {
  const std::string command =
      "RELUCENT_CUDA_EMULATOR='" + settings + "' " + RELUCENT_EMULATOR_PROBE + " " + arguments + " 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    output += buffer;
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return output;
}

TEST(Environment, GivesTheOptionsAndTheFailuresToCome) {
  EXPECT_EQ(run_probe("", ""),
            "cudaSuccess, 1 devices; Emulated GPU 8.0, 4294967296 bytes; cudaSuccess; cudaSuccess; cudaSuccess\n");
  EXPECT_EQ(run_probe("devices=2,memory=64M,name=X,capability=9.0,fail=cudaMalloc:2", ""),
            "cudaSuccess, 2 devices; X 9.0, 67108864 bytes; X 9.0, 67108864 bytes; cudaSuccess; "
            "cudaErrorMemoryAllocation; cudaSuccess\n");
  EXPECT_EQ(run_probe("fail=cudaMalloc:2:700:sticky", ""),
            "cudaSuccess, 1 devices; Emulated GPU 8.0, 4294967296 bytes; cudaSuccess; cudaErrorIllegalAddress; "
            "cudaErrorIllegalAddress\n");
  const std::string wrong = run_probe("devises=2", "");
  EXPECT_NE(wrong.find("'devises=2' is not understood"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("cudaErrorInitializationError, 0 devices"), std::string::npos) << wrong;
}

TEST(Environment, ReportsThatNobodyClearedArePrintedAtTheEnd) {
  const std::string output = run_probe("", "race");
  EXPECT_NE(output.find("; cudaErrorIllegalAddress\n"), std::string::npos) << output;
  EXPECT_NE(output.find("CUDA emulator: 1 reports\n  race: (anonymous namespace)::race(int*), block (0, 0, 0)"),
            std::string::npos)
      << output;
}

}  // namespace
}  // namespace relucent::emulator_test
