/// A CUDA device on the host, for tests: the kernel and host sources of kernels/cuda, compiled with the headers of
/// include/ instead of the toolkit's, run on it unchanged and are watched while they do.
///
/// Emulated faithfully:
/// - blocks, warps and threads (a fiber each), __syncthreads, __syncwarp, shuffles and votes; the order in which they
///   run is drawn from a seed, so that code which relies on an order breaks;
/// - ldmatrix, movmatrix, mma.m16n8k16 with the PTX manual's fragments (exact products, fp32 sums), and cp.async, whose
///   bytes arrive no sooner than at the wait;
/// - each thread's stack of contexts, the primary ones and a host's own: the runtime works in the current one, and
/// where
///   there is none it opens the current device's; cudaSetDevice() opens it and puts it in the place of what was
///   current;
/// - fp16 and bf16 rounding, the limits of a launch, memory that runs out, errors that stick, streams that do nothing
///   until somebody waits for them or polls (one operation per query);
/// - cuBLASLt's products in column-major order with their epilogues;
/// - streams whose launches and products are captured as graphs. A capture with any other call is invalid: more calls
///   are refused than by CUDA, which captures copies. While one is under way, cuBLASLt proposes no algorithms, as that
///   of CUDA 13.3.
///
/// Reported while a kernel runs: accesses out of bounds, misaligned or to the host's memory; reads of bytes that
/// nothing wrote; two threads at one byte, one of them writing, with no barrier between; writes to bytes to which a
/// cp.async is on its way; barriers and warp instructions that not all their threads reach. And on the host: code that
/// touches device memory, and staging memory reused too early. A launch that was reported fails with
/// cudaErrorIllegalAddress, which sticks until reset() or restore_device().
///
/// Not emulated: time, caches, the order of sums inside tensor cores, approximations such as __expf's, atomics,
/// wgmma, TMA, clusters. memcpy and memset inside a kernel are not watched. Races between streams show only
/// where the lazy order gives a wrong result. Blocks run one after another, so a kernel whose blocks wait for each
/// other never ends. __syncwarp orders its lanes' accesses; shuffles, votes, ldmatrix and mma do not, as in CUDA.
///
/// What needs no device is answered as the toolkit's libraries answer it (tests/cuda/library_unit.cpp), with stricter
/// answers where they are undefined: descriptions that were never initialised and allocations of 0 bytes are refused.
///
/// One device state per process; every function may be called by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::emulator {

enum class Fault {
  out_of_bounds,  ///< outside every allocation, or past the end of one
  host_memory,    ///< a kernel at the host's memory
  device_memory,  ///< the host at a device's memory
  misaligned,
  uninitialised,  ///< a read of bytes never written
  race,
  divergence,  ///< a barrier or warp instruction that not all its threads reach
  staging,     ///< memory of an unfinished copy touched by the host
};

struct Report {
  Fault fault;
  std::string kernel;  ///< demangled; an API's name where no kernel was running
  unsigned block[3] = {};
  unsigned thread[3] = {};
  std::string message;
};

std::string to_string(const Report& report);

/// What was found since the last clear_reports(); what nobody cleared is printed when the program ends.
std::vector<Report> reports();
void clear_reports();

struct Options {
  int devices = 1;
  std::string name = "Emulated GPU";    ///< "NAME" for every device; see also names
  std::vector<std::string> names = {};  ///< by device, where they differ
  int major = 8, minor = 0;             ///< decides how much shared memory a block may have
  int multiprocessors = 8;
  std::size_t memory = std::size_t{4} << 30;  ///< bytes per device
  int driver = 13000;                         ///< 0: no driver; older than 13000: too old
  std::uint64_t seed = 1;                     ///< of the order in which things run
  bool same_gpus = false;                     ///< with the UUIDs from before reset()
};

/// Fresh devices: allocations, streams, counts, failures to come and reports are forgotten. Nothing of them may be used
/// any more. The environment's RELUCENT_CUDA_EMULATOR gives the options at the start of a program, as
/// "devices=2,memory=64M,fail=cudaMalloc:3": devices, name, capability (8.0), multiprocessors, memory (K, M, G),
/// driver, seed, count (see count_work()), and fail=CALL:NTH[:ERROR[:sticky]], which may be repeated.
void reset(const Options& options = {});
void set_seed(std::uint64_t seed);

/// The nth call of `call` ("cudaMalloc", "cudaLaunchKernel", "cublasLtMatmul", ...) from now on does nothing and
/// returns `error` (0: what that call would give). Sticky: so does then every later call on its device.
void fail(std::string_view call, std::uint64_t nth = 1, int error = 0, bool sticky = false);
/// How often each call was made since reset() or clear_calls().
std::map<std::string, std::uint64_t> calls();
void clear_calls();

/// As if the device fell off its bus: every call on it fails until restore_device().
void lose_device(int device);
void restore_device(int device);

/// What launches of one kernel with one grid, or products of one shape, have done to device memory and computed.
struct Work {
  std::uint64_t launches = 0;
  std::uint64_t read = 0, written = 0;  ///< bytes, as often as threads touched them; of a product, once
  /// Each byte once per launch, and read only if the launch had not written it: what a cache of any size would leave.
  std::uint64_t read_once = 0, written_once = 0;
  std::uint64_t flops = 0;  ///< of mma and of products, two per multiply-add
};

/// Counts from zero on, or no longer. RELUCENT_CUDA_EMULATOR=count=FILE counts a whole program and writes a table of it
/// at its end: per launch, in MB and GFLOP.
void count_work(bool on);
/// By "attend<__half, 32, Keys> 12 x 283 blocks" or "product 384 -> 1152, 17408 rows".
std::map<std::string, Work> work();

/// What is alive, for tests of leaks.
std::size_t live_allocations();
std::size_t live_pinned();
std::size_t live_streams();
std::size_t live_events();
std::size_t live_graphs();  ///< with those ready to be launched
std::size_t live_cublas_objects();
std::size_t live_bytes(int device);

/// Whether the device's primary context is open, by the runtime's or the driver's functions; whether it has ever been
/// since reset().
bool has_context(int device);
bool had_context(int device);
/// The calling thread's current context, null where there is none; not counted as a call.
const void* thread_context();

}  // namespace relucent::emulator
