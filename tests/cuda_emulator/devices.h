/// The emulated devices, their streams and what is alive on them; counting calls and making them fail.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/include/cublasLt.h"
#include "tests/cuda_emulator/include/cuda.h"
#include "tests/cuda_emulator/include/cuda_runtime.h"

namespace relucent::emulator {

/// Something that waits in a stream, perhaps with a range of pinned memory that the host leaves alone until it is done.
struct Operation {
  std::function<cudaError_t()> run;
  const void* host = nullptr;
  std::size_t host_bytes = 0;
  bool host_is_written = false;
};

/// What a stream is given between the begin and the end of a capture.
struct Capture {
  std::thread::id thread;  // which has begun it
  bool valid = true;       // no call since was one that cannot be captured
  std::vector<Operation> operations;
};

}  // namespace relucent::emulator

/// A device's primary context, or one that a host has made.
struct CUctx_st {
  int device = 0;
  bool primary = false;
};

struct CUstream_st {
  int device = 0;
  CUcontext context = nullptr;  // null: the default stream, of whichever is current
  bool waits_for_default = true;
  std::deque<relucent::emulator::Operation> queue;
  std::unique_ptr<relucent::emulator::Capture> capture = nullptr;  // null: none is under way
};

struct CUgraph_st {
  int device = 0;
  std::vector<relucent::emulator::Operation> operations;
};
struct CUgraphExec_st : CUgraph_st {};

struct CUevent_st {
  int device = 0;
  bool timed = true;
  CUstream_st* stream = nullptr;  // of the last record
  std::uint64_t recorded = 0;     // how often it was put into a stream, and how often it was reached there
  std::uint64_t reached = 0;
  double seconds = 0;
};

namespace relucent::emulator {

struct Device {
  CUstream_st default_stream;
  CUctx_st primary;
  unsigned retained = 0;  // how often the primary context is, by the runtime and others; 0: it is closed
  bool runtime_retains = false;
  bool was_opened = false;  // since reset()
  cudaError_t sticky = cudaSuccess;
  std::size_t used = 0;
  std::map<const void*, int> shared_limits;  // by kernel
};

struct Failure {
  std::string call;
  std::uint64_t remaining = 1;
  int error = 0;
  bool sticky = false;
};

struct Devices {
  std::recursive_mutex mutex;
  Options options;
  bool bad_environment = false;
  std::vector<std::unique_ptr<Device>> all;
  std::set<CUstream_st*> streams;
  std::set<CUevent_st*> events;
  std::set<CUgraph_st*> graphs;
  std::set<CUgraphExec_st*> executables;
  std::set<CUcontext> contexts;  // the hosts', without the primary ones
  std::set<const void*> cublas_objects;
  std::vector<Failure> failures;
  std::map<std::string, std::uint64_t> calls;
  std::uint64_t launches = 0;
  std::uint64_t resets = 0;
  std::uint64_t exchanges = 0;  // of these GPUs for others

  void fresh(const Options& wanted);
  CUstream_st* stream_of(cudaStream_t stream);  // null where there is no such stream
  /// Runs what waits in the stream, as far as `until` has been reached where it is given.
  cudaError_t flush(CUstream_st& stream, const CUevent_st* until = nullptr, std::uint64_t count = 0);
  /// Runs the first operation that waits in the stream, if any: work proceeds while a caller polls.
  cudaError_t step(CUstream_st& stream);
  cudaError_t flush_all(int device);
  cudaError_t flush_waiting_for_default(int device);
  void enqueue(CUstream_st& stream, Operation operation);
  bool captures() const;  ///< some stream
  /// Makes the calling thread's captures invalid; false if there are none.
  bool spoil_captures();
};

Devices& the_devices();
/// The calling thread's stack of contexts, the current one last.
std::vector<CUcontext>& the_contexts();
CUcontext current_context();  // null: none
/// CUDA's current device of the calling thread: the current context's, else the one chosen last, 0 at first.
int current_device();
/// cudaSetDevice(): opens the device's primary context and makes it the current one, in the place of what was.
void set_current_device(int device);
/// Why no function of the runtime can work: no driver, an old one, no device.
cudaError_t driver_problem();
/// What every function of the runtime does that needs a context: where none is current, takes the current device's
/// primary one.
void use_runtime();

/// A report that no kernel is to blame for.
void report_call(Fault fault, const char* call, std::string message);

/// One API call: locks the state, counts it, and decides whether it has to fail before doing anything.
class Call {
 public:
  /// What an injected failure gives by default.
  Call(const char* name, int failure);

  bool failed() const { return error_ != 0; }
  int error() const { return error_; }
  bool injected() const { return injected_; }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  int error_ = 0;
  bool injected_ = false;
};

// Checks of whole ranges by copies and matrix products. They report under the name of `call`.
bool check_device_range(const char* call, const void* address, std::size_t bytes, bool reads);
void mark_written(const void* address, std::size_t bytes);

}  // namespace relucent::emulator
