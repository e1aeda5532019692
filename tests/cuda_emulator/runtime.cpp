// The CUDA runtime's functions.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "tests/cuda_emulator/devices.h"
#include "tests/cuda_emulator/execution.h"
#include "tests/cuda_emulator/include/cuda.h"
#include "tests/cuda_emulator/memory.h"
#include "tests/cuda_emulator/reports.h"

using namespace relucent::emulator;

namespace {

constexpr int kRuntime = CUDART_VERSION;
constexpr std::size_t kGrain = 256;
constexpr std::size_t kSharedByDefault = 48 * 1024;

// Each thread's last error, of the devices as they were made by that reset.
struct LastError {
  cudaError_t error = cudaSuccess;
  std::uint64_t resets = 0;
};
thread_local LastError last_error;

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) {
    last_error = {error, the_devices().resets};
  }
  return error;
}

Device& here() { return *the_devices().all[static_cast<std::size_t>(current_device())]; }

/// Whether a thread that captures may call it; what it starts is then captured, if anything.
bool may_be_captured(std::string_view call) {
  return call == "cudaLaunchKernel" || call == "cudaStreamEndCapture" || call == "cudaFuncSetAttribute";
}

/// A call of the runtime: fails by injection, for lack of a driver, or since its device has failed before.
class RuntimeCall : public Call {
 public:
  explicit RuntimeCall(const char* name, cudaError_t failure = cudaErrorUnknown) : Call(name, failure) {
    error_ = static_cast<cudaError_t>(Call::error());
    if (error_ == cudaSuccess) {
      error_ = driver_problem();
    }
    if (error_ == cudaSuccess) {
      use_runtime();
      error_ = here().sticky;
    }
    if (error_ == cudaSuccess && !may_be_captured(name) && the_devices().spoil_captures()) {
      error_ = cudaErrorStreamCaptureUnsupported;
    }
  }
  bool failed() const { return error_ != cudaSuccess; }
  cudaError_t error() const { return note(error_); }

 private:
  cudaError_t error_;
};

bool is_device(const void* address) { return device_memory().contains(reinterpret_cast<std::uintptr_t>(address)); }
bool is_pinned(const void* address) { return pinned_memory().contains(reinterpret_cast<std::uintptr_t>(address)); }

std::size_t shared_limit(const Options& options) {
  const int capability = options.major * 10 + options.minor;
  return capability >= 90 ? 227 * 1024 : capability == 80 || capability == 87 ? 163 * 1024 : 99 * 1024;
}

std::uint64_t fingerprint(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint64_t sum = 0x9ae16a3b2f90404fU;
  for (; count >= 8; count -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    sum = (sum ^ word) * 0x9ddfea08eb382d69U;
    sum ^= sum >> 32;
  }
  for (; count > 0; --count, ++at) {
    sum = (sum ^ *at) * 0x9ddfea08eb382d69U;
  }
  return sum;
}

cudaMemcpyKind kind_of(const void* to, const void* from) {
  return is_device(to)     ? is_device(from) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
         : is_device(from) ? cudaMemcpyDeviceToHost
                           : cudaMemcpyHostToHost;
}

cudaError_t copy_now(const char* call, void* to, const void* from, std::size_t bytes) {
  const bool reads_device = is_device(from);
  const bool writes_device = is_device(to);
  bool good = true;
  if (writes_device) {
    good = check_device_range(call, to, bytes, false) && good;
  }
  if (reads_device) {
    good = check_device_range(call, from, bytes, !writes_device) && good;
  }
  if (!good) {
    return cudaErrorIllegalAddress;
  }
  std::memmove(to, from, bytes);
  if (writes_device && reads_device) {  // unwritten bytes stay unwritten
    std::memmove(device_memory().shadow(reinterpret_cast<std::uintptr_t>(to)).states,
                 device_memory().shadow(reinterpret_cast<std::uintptr_t>(from)).states, bytes);
  } else if (writes_device) {
    mark_written(to, bytes);
  }
  return cudaSuccess;
}

cudaError_t copy(const char* call, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t where, bool wait) {
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (kind != cudaMemcpyDefault && kind != kind_of(to, from)) {
    report_call(Fault::out_of_bounds, call, "the direction does not fit where the pointers point");
    return cudaErrorInvalidValue;
  }
  if (bytes == 0) {
    return cudaSuccess;
  }
  const bool host_source = !is_device(from);
  const bool host_target = !is_device(to);
  if (const void* const host = host_source ? from : to;
      is_pinned(host) && !pinned_memory().holds(reinterpret_cast<std::uintptr_t>(host), bytes)) {
    report_call(Fault::out_of_bounds, call, "past the end of pinned memory");
    return cudaErrorInvalidValue;
  }
  Operation operation;
  if (host_source && is_pinned(from)) {
    operation.host = from;
    operation.host_bytes = bytes;
    operation.run = [=, sum = fingerprint(from, bytes)] {
      if (fingerprint(from, bytes) != sum) {
        report_call(
            Fault::staging, call,
            "the " + std::to_string(bytes) + " bytes of pinned memory were changed before they had been copied");
        return cudaErrorIllegalAddress;
      }
      return copy_now(call, to, from, bytes);
    };
  } else if (host_source) {  // the driver takes a copy of pageable memory before it returns
    const auto* const source = static_cast<const unsigned char*>(from);
    operation.run = [=, staged = std::make_shared<std::vector<unsigned char>>(source, source + bytes)] {
      return copy_now(call, to, staged->data(), bytes);
    };
  } else {
    operation.run = [=] { return copy_now(call, to, from, bytes); };
    if (host_target && is_pinned(to)) {
      operation.host = to;
      operation.host_bytes = bytes;
      operation.host_is_written = true;
      std::memset(to, 0xd5, bytes);  // who reads too early shall notice
    } else if (host_target) {
      wait = true;  // copies to pageable memory return when they are done
    }
  }
  devices.enqueue(*stream, std::move(operation));
  return wait ? devices.flush(*stream) : cudaSuccess;
}

cudaError_t set_bytes(const char* call, void* memory_, int value, std::size_t bytes, cudaStream_t where) {
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (!is_device(memory_)) {
    return cudaErrorInvalidValue;
  }
  devices.enqueue(*stream, {[=] {
    if (!check_device_range(call, memory_, bytes, false)) {
      return cudaErrorIllegalAddress;
    }
    std::memset(memory_, value, bytes);
    mark_written(memory_, bytes);
    return cudaSuccess;
  }});
  return cudaSuccess;
}

cudaError_t peek() {
  if (driver_problem() == cudaErrorInsufficientDriver) {
    return cudaErrorInsufficientDriver;
  }
  const cudaError_t sticky = driver_problem() == cudaSuccess ? here().sticky : cudaSuccess;
  if (sticky != cudaSuccess) {
    return sticky;
  }
  return last_error.resets == the_devices().resets ? last_error.error : cudaSuccess;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

namespace relucent::emulator {

cudaError_t driver_problem() {
  const Devices& devices = the_devices();
  if (devices.bad_environment) {
    return cudaErrorInitializationError;
  }
  if (devices.options.driver < kRuntime / 1000 * 1000) {
    return cudaErrorInsufficientDriver;
  }
  return devices.all.empty() ? cudaErrorNoDevice : cudaSuccess;
}

// Code of emulated sources outside kernels came to device or pinned memory (see access.cpp).
void host_touched(const void* address, std::size_t bytes, bool writes) {
  Devices& devices = the_devices();
  const std::lock_guard lock(devices.mutex);
  const char* const what = writes ? "written" : "read";
  if (is_device(address)) {
    report_call(Fault::device_memory, "the host's code", std::string("device memory is ") + what + " by the host");
    return;
  }
  const auto* const at = static_cast<const unsigned char*>(address);
  const auto check = [&](const CUstream_st& stream) {
    for (const Operation& operation : stream.queue) {
      const auto* const begin = static_cast<const unsigned char*>(operation.host);
      if (begin != nullptr && (writes || operation.host_is_written) && at < begin + operation.host_bytes &&
          begin < at + bytes) {
        report_call(Fault::staging, "the host's code",
                    std::string("pinned memory is ") + what + " while a copy of it may still be under way");
        return;
      }
    }
  };
  for (const auto& device : devices.all) {
    check(device->default_stream);
  }
  for (const CUstream_st* const stream : devices.streams) {
    check(*stream);
  }
}

cudaError_t launch(Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t where) {
  const RuntimeCall call("cudaLaunchKernel", cudaErrorLaunchOutOfResources);
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr || stream->device != current_device() ||
      (stream->context != nullptr && stream->context != current_context())) {
    return note(cudaErrorInvalidResourceHandle);
  }
  if (kernel.function == nullptr) {
    return note(cudaErrorInvalidDeviceFunction);
  }
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads || block.x > 1024 || block.y > 1024 || block.z > 64 || grid.x == 0 ||
      grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffU || grid.y > 65535 || grid.z > 65535) {
    return note(cudaErrorInvalidConfiguration);
  }
  const auto raised = here().shared_limits.find(kernel.function);
  if (shared_bytes >
      (raised == here().shared_limits.end() ? kSharedByDefault : static_cast<std::size_t>(raised->second))) {
    return note(cudaErrorInvalidValue);
  }
  const Launch what{std::move(kernel), grid, block, shared_bytes, stream->device};
  devices.enqueue(*stream, {[what, number = ++devices.launches] {
    const bool good = the_execution().run(what, the_devices().options.seed * 1000003 + number);
    return good ? cudaSuccess : cudaErrorIllegalAddress;
  }});
  return cudaSuccess;
}

}  // namespace relucent::emulator

cudaError_t cudaDriverGetVersion(int* version) {
  const Call call("cudaDriverGetVersion", cudaErrorUnknown);
  if (call.failed()) {
    return note(static_cast<cudaError_t>(call.error()));
  }
  *version = the_devices().options.driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  const Call call("cudaRuntimeGetVersion", cudaErrorUnknown);
  if (call.failed()) {
    return note(static_cast<cudaError_t>(call.error()));
  }
  *version = kRuntime;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  const Call call("cudaGetDeviceCount", cudaErrorUnknown);
  const auto error = call.failed() ? static_cast<cudaError_t>(call.error()) : driver_problem();
  if (error == cudaSuccess) {
    *count = static_cast<int>(the_devices().all.size());
  }
  return note(error);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Call call("cudaGetDeviceProperties", cudaErrorUnknown);
  if (call.failed()) {
    return note(static_cast<cudaError_t>(call.error()));
  }
  if (const cudaError_t error = driver_problem(); error != cudaSuccess) {
    return note(error);
  }
  const Options& options = the_devices().options;
  if (device < 0 || device >= options.devices) {
    return note(cudaErrorInvalidDevice);
  }
  *properties = {};
  const auto number = static_cast<std::size_t>(device);
  const std::string& name = number < options.names.size() ? options.names[number] : options.name;
  name.copy(properties->name, sizeof properties->name - 1);
  const std::array<std::uint64_t, 2> uuid = {the_devices().exchanges, number};
  std::memcpy(properties->uuid.bytes, uuid.data(), sizeof uuid);
  properties->totalGlobalMem = options.memory;
  properties->sharedMemPerBlock = kSharedByDefault;
  properties->sharedMemPerBlockOptin = shared_limit(options);
  properties->sharedMemPerMultiprocessor = shared_limit(options) + 1024;
  properties->reservedSharedMemPerBlock = 1024;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = static_cast<int>(kWarp);
  properties->maxThreadsPerBlock = static_cast<int>(kMaxThreads);
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = std::numeric_limits<int>::max();
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->major = options.major;
  properties->minor = options.minor;
  properties->multiProcessorCount = options.multiprocessors;
  properties->concurrentKernels = 1;
  properties->pciBusID = device + 1;
  properties->asyncEngineCount = 2;
  properties->unifiedAddressing = 1;
  properties->memoryBusWidth = 5120;
  properties->l2CacheSize = 40 << 20;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Call call("cudaSetDevice", cudaErrorUnknown);
  if (call.failed()) {
    return note(static_cast<cudaError_t>(call.error()));
  }
  if (const cudaError_t error = driver_problem(); error != cudaSuccess) {
    return note(error);
  }
  if (device < 0 || device >= the_devices().options.devices) {
    return note(cudaErrorInvalidDevice);
  }
  set_current_device(device);
  return note(here().sticky);
}

cudaError_t cudaGetDevice(int* device) {
  const Call call("cudaGetDevice", cudaErrorUnknown);
  const auto error = call.failed() ? static_cast<cudaError_t>(call.error()) : driver_problem();
  if (error == cudaSuccess) {
    *device = current_device();
  }
  return note(error);
}

cudaError_t cudaDeviceSynchronize() {
  const RuntimeCall call("cudaDeviceSynchronize");
  return call.failed() ? call.error() : note(the_devices().flush_all(current_device()));
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const RuntimeCall call("cudaMemGetInfo");
  if (call.failed()) {
    return call.error();
  }
  *total = the_devices().options.memory;
  *free = *total - here().used;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  const RuntimeCall call("cudaMalloc", cudaErrorMemoryAllocation);
  if (call.failed()) {
    return call.error();
  }
  if (bytes == 0) {  // CUDA does not document what it then does, so nothing may rely on it
    return note(cudaErrorInvalidValue);
  }
  const std::size_t room = the_devices().options.memory - here().used;
  if (bytes > room || (bytes + kGrain - 1) / kGrain * kGrain > room) {
    return note(cudaErrorMemoryAllocation);
  }
  const std::uintptr_t address = device_memory().allocate(bytes, current_device());
  if (address == 0) {
    return note(cudaErrorMemoryAllocation);
  }
  here().used += (bytes + kGrain - 1) / kGrain * kGrain;
  *to = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

// What frees something does so even where it returns an error, which is then that of earlier work.
cudaError_t cudaFree(void* address) {
  const RuntimeCall call("cudaFree");
  if (address == nullptr || driver_problem() != cudaSuccess) {
    return call.error();
  }
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Allocation* const found = is_device(address) ? device_memory().find(at) : nullptr;
  if (found == nullptr || found->address != at) {
    return call.failed() ? call.error() : note(cudaErrorInvalidValue);
  }
  const Allocation allocation = *found;
  const cudaError_t earlier = the_devices().flush_all(allocation.device);
  the_devices().all[static_cast<std::size_t>(allocation.device)]->used -=
      (allocation.bytes + kGrain - 1) / kGrain * kGrain;
  device_memory().release(at);
  return call.failed() ? call.error() : note(earlier);
}

cudaError_t cudaMallocHost(void** to, std::size_t bytes) {
  const RuntimeCall call("cudaMallocHost", cudaErrorMemoryAllocation);
  if (call.failed()) {
    return call.error();
  }
  if (bytes == 0) {
    return note(cudaErrorInvalidValue);
  }
  const std::uintptr_t address = pinned_memory().allocate(bytes, -1);
  if (address == 0) {
    return note(cudaErrorMemoryAllocation);
  }
  *to = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* address) {
  const RuntimeCall call("cudaFreeHost");
  if (address == nullptr || driver_problem() != cudaSuccess) {
    return call.error();
  }
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Allocation* const found = is_pinned(address) ? pinned_memory().find(at) : nullptr;
  if (found == nullptr || found->address != at) {
    return call.failed() ? call.error() : note(cudaErrorInvalidValue);
  }
  cudaError_t earlier = cudaSuccess;
  for (int device = 0; device < the_devices().options.devices; ++device) {
    earlier = std::max(earlier, the_devices().flush_all(device));
  }
  pinned_memory().release(at);
  return call.failed() ? call.error() : note(earlier);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const RuntimeCall call("cudaMemcpy", cudaErrorInvalidValue);
  return call.failed() ? call.error() : note(copy("cudaMemcpy", to, from, bytes, kind, nullptr, true));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const RuntimeCall call("cudaMemcpyAsync", cudaErrorInvalidValue);
  return call.failed() ? call.error() : note(copy("cudaMemcpyAsync", to, from, bytes, kind, stream, false));
}

cudaError_t cudaMemset(void* address, int value, std::size_t bytes) {
  const RuntimeCall call("cudaMemset", cudaErrorInvalidValue);
  return call.failed() ? call.error() : note(set_bytes("cudaMemset", address, value, bytes, nullptr));
}

cudaError_t cudaMemsetAsync(void* address, int value, std::size_t bytes, cudaStream_t stream) {
  const RuntimeCall call("cudaMemsetAsync", cudaErrorInvalidValue);
  return call.failed() ? call.error() : note(set_bytes("cudaMemsetAsync", address, value, bytes, stream));
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  const RuntimeCall call("cudaStreamCreateWithFlags", cudaErrorMemoryAllocation);
  if (call.failed()) {
    return call.error();
  }
  *stream = new CUstream_st{current_device(), current_context(), (flags & cudaStreamNonBlocking) == 0, {}};
  the_devices().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t where, cudaStreamCaptureMode) {
  const RuntimeCall call("cudaStreamBeginCapture");
  if (call.failed()) {
    return call.error();
  }
  CUstream_st* const stream = where == nullptr ? nullptr : the_devices().stream_of(where);
  if (stream == nullptr) {
    return note(cudaErrorInvalidResourceHandle);
  }
  if (stream->capture != nullptr) {
    return note(cudaErrorInvalidValue);
  }
  stream->capture = std::make_unique<Capture>();
  stream->capture->thread = std::this_thread::get_id();
  return cudaSuccess;
}

// Ends the capture even where it returns an error.
cudaError_t cudaStreamEndCapture(cudaStream_t where, cudaGraph_t* graph) {
  const RuntimeCall call("cudaStreamEndCapture");
  CUstream_st* const stream = where == nullptr ? nullptr : the_devices().stream_of(where);
  const std::unique_ptr<Capture> capture = stream == nullptr ? nullptr : std::move(stream->capture);
  *graph = nullptr;
  if (call.failed()) {
    return call.error();
  }
  if (capture == nullptr) {
    return note(cudaErrorInvalidValue);
  }
  if (!capture->valid) {
    return note(cudaErrorStreamCaptureInvalidated);
  }
  *graph = new CUgraph_st{stream->device, std::move(capture->operations)};
  the_devices().graphs.insert(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  const RuntimeCall call("cudaGraphInstantiate", cudaErrorMemoryAllocation);
  if (call.failed()) {
    return call.error();
  }
  if (!the_devices().graphs.contains(graph)) {
    return note(cudaErrorInvalidValue);
  }
  *executable = new CUgraphExec_st{*graph};
  the_devices().executables.insert(*executable);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t where) {
  const RuntimeCall call("cudaGraphLaunch", cudaErrorLaunchOutOfResources);
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr || !devices.executables.contains(executable) || executable->device != stream->device) {
    return note(cudaErrorInvalidResourceHandle);
  }
  for (const Operation& operation : executable->operations) {
    devices.enqueue(*stream, operation);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const RuntimeCall call("cudaGraphDestroy");
  if (the_devices().graphs.erase(graph) == 0) {
    return call.failed() ? call.error() : note(cudaErrorInvalidValue);
  }
  delete graph;
  return call.error();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const RuntimeCall call("cudaGraphExecDestroy");
  if (the_devices().executables.erase(executable) == 0) {
    return call.failed() ? call.error() : note(cudaErrorInvalidValue);
  }
  delete executable;
  return call.error();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const RuntimeCall call("cudaStreamDestroy");
  Devices& devices = the_devices();
  if (!devices.streams.contains(stream)) {
    return call.failed() ? call.error() : note(cudaErrorInvalidResourceHandle);
  }
  const cudaError_t earlier = devices.flush(*stream);
  for (CUevent_st* const event : devices.events) {
    event->stream = event->stream == stream ? nullptr : event->stream;
  }
  devices.streams.erase(stream);
  delete stream;
  return call.failed() ? call.error() : note(earlier);
}

cudaError_t cudaStreamSynchronize(cudaStream_t where) {
  const RuntimeCall call("cudaStreamSynchronize");
  if (call.failed()) {
    return call.error();
  }
  CUstream_st* const stream = the_devices().stream_of(where);
  return note(stream == nullptr ? cudaErrorInvalidResourceHandle : the_devices().flush(*stream));
}

// A query runs one operation, so a caller that polls sees the work proceed.
cudaError_t cudaStreamQuery(cudaStream_t where) {
  const RuntimeCall call("cudaStreamQuery");
  if (call.failed()) {
    return call.error();
  }
  CUstream_st* const stream = the_devices().stream_of(where);
  if (stream == nullptr) {
    return note(cudaErrorInvalidResourceHandle);
  }
  const cudaError_t error = the_devices().step(*stream);
  return note(error == cudaSuccess && !stream->queue.empty() ? cudaErrorNotReady : error);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t where, cudaEvent_t event, unsigned int) {
  const RuntimeCall call("cudaStreamWaitEvent");
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr || !devices.events.contains(event)) {
    return note(cudaErrorInvalidResourceHandle);
  }
  devices.enqueue(*stream, {[event, count = event->recorded] {
    Devices& all = the_devices();
    if (all.events.contains(event) && event->stream != nullptr && event->reached < count) {
      return all.flush(*event->stream, event, count);
    }
    return cudaSuccess;
  }});
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  const RuntimeCall call("cudaEventCreate", cudaErrorMemoryAllocation);
  if (call.failed()) {
    return call.error();
  }
  *event = new CUevent_st;
  (*event)->device = current_device();
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  the_devices().events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t where) {
  const RuntimeCall call("cudaEventRecord");
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr || !devices.events.contains(event) || event->device != stream->device) {
    return note(cudaErrorInvalidResourceHandle);
  }
  event->stream = stream;
  devices.enqueue(*stream, {[event, count = ++event->recorded] {
    if (the_devices().events.contains(event)) {
      event->reached = std::max(event->reached, count);
      event->seconds = now();
    }
    return cudaSuccess;
  }});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const RuntimeCall call("cudaEventSynchronize");
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  if (!devices.events.contains(event)) {
    return note(cudaErrorInvalidResourceHandle);
  }
  if (event->stream != nullptr && event->reached < event->recorded) {
    return note(devices.flush(*event->stream, event, event->recorded));
  }
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const RuntimeCall call("cudaEventQuery");
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  if (!devices.events.contains(event)) {
    return note(cudaErrorInvalidResourceHandle);
  }
  const bool waits = event->stream != nullptr && event->reached < event->recorded;
  const cudaError_t error = waits ? devices.step(*event->stream) : cudaSuccess;
  return note(error == cudaSuccess && event->reached < event->recorded && event->stream != nullptr ? cudaErrorNotReady
                                                                                                   : error);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const RuntimeCall call("cudaEventElapsedTime");
  if (call.failed()) {
    return call.error();
  }
  Devices& devices = the_devices();
  if (!devices.events.contains(start) || !devices.events.contains(end) || !start->timed || !end->timed ||
      start->recorded == 0 || end->recorded == 0) {
    return note(cudaErrorInvalidResourceHandle);
  }
  if (start->reached < start->recorded || end->reached < end->recorded) {
    return cudaErrorNotReady;
  }
  *milliseconds = static_cast<float>((end->seconds - start->seconds) * 1e3);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const RuntimeCall call("cudaEventDestroy");
  if (the_devices().events.erase(event) == 0) {
    return call.failed() ? call.error() : note(cudaErrorInvalidResourceHandle);
  }
  delete event;
  return call.error();
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const RuntimeCall call("cudaFuncSetAttribute", cudaErrorInvalidDeviceFunction);
  if (call.failed()) {
    return call.error();
  }
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || static_cast<std::size_t>(value) > shared_limit(the_devices().options)) {
      return note(cudaErrorInvalidValue);
    }
    here().shared_limits[kernel] = value;
  }
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const Call call("cudaGetLastError", cudaErrorUnknown);
  const cudaError_t error = call.failed() ? static_cast<cudaError_t>(call.error()) : peek();
  last_error = {};
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const Call call("cudaPeekAtLastError", cudaErrorUnknown);
  return call.failed() ? static_cast<cudaError_t>(call.error()) : peek();
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const Call call("cudaGetDriverEntryPointByVersion", cudaErrorUnknown);
  if (call.failed()) {
    return note(static_cast<cudaError_t>(call.error()));
  }
  if (const cudaError_t error = driver_problem(); error == cudaErrorInsufficientDriver) {
    return note(error);
  }
  const std::pair<const char*, void*> functions[] = {
      {"cuDeviceGet", reinterpret_cast<void*>(&cuDeviceGet)},
      {"cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(&cuDevicePrimaryCtxGetState)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&cuDevicePrimaryCtxRetain)},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(&cuDevicePrimaryCtxRelease)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(&cuCtxPushCurrent)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(&cuCtxPopCurrent)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(&cuCtxGetCurrent)},
      {"cuCtxSetCurrent", reinterpret_cast<void*>(&cuCtxSetCurrent)},
      {"cuMemGetInfo", reinterpret_cast<void*>(&cuMemGetInfo)},
  };
  for (const auto& [name, address] : functions) {
    if (std::strcmp(name, symbol) == 0) {
      *function = address;
      *result = cudaDriverEntryPointSuccess;
      return cudaSuccess;
    }
  }
  *function = nullptr;
  *result = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
