/// One kernel launch at a time: its blocks one after another, a block's threads as fibers of the calling host thread.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "instructions.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/memory.h"

namespace relucent::emulator {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kMaxThreads = 1024;
inline constexpr std::size_t kStackBytes = 64 * 1024;

enum class Wait : std::uint8_t {
  nothing,
  block_barrier,
  warp_barrier,
  shuffle,
  vote,
  load_matrices,
  transpose,
  mma,
  ended
};

struct AsyncCopy {
  unsigned char* to;
  const unsigned char* from;
  bool valid;
  unsigned group;
};

struct Context {
  boost::context::detail::fcontext_t fiber = nullptr;
};

struct Thread : Context {
  Place* place = nullptr;  // at the top of its stack
  std::uintptr_t stack = 0;
  unsigned index = 0;
  unsigned sync_stamp = 0;  // of the last __syncwarp it took part in, and with whom
  unsigned sync_mask = 0;
  Wait wait = Wait::nothing;
  unsigned mask = 0;
  void* arguments = nullptr;
  unsigned open_group = 0;
  std::vector<AsyncCopy> copies;

  unsigned warp() const { return index / kWarp; }
  unsigned lane() const { return index % kWarp; }
};

struct Warp {
  std::uint32_t ready = 0;
  std::uint32_t waiting = 0;  // at a warp instruction
};

struct Launch {
  Kernel kernel;
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  int device = 0;
};

class Execution {
 public:
  Execution();

  /// False where something was reported.
  bool run(const Launch& launch, std::uint64_t seed);

  // From here on called by the running thread.

  void block_barrier();
  /// Waits for all lanes of the mask to bring the same instruction; the last of them runs perform(mask) for all.
  template <typename Perform>
  void meet(Wait instruction, unsigned mask, void* arguments, Perform perform);
  Thread& lane(unsigned lane_index);

  /// A report about the running thread; at most a few of a kind are kept per launch.
  void report(Fault fault, const std::string& message);
  /// Likewise, and the launch ends there.
  [[noreturn]] void fail(Fault fault, const std::string& message);
  std::string name_thread(unsigned index) const;
  /// The block that ran when the stamp was given out.
  std::string name_block(std::uint32_t stamp) const;

  /// A moment later than all before it.
  std::uint32_t next_stamp();

  const Launch* launch = nullptr;
  std::uint32_t stamp = 1;          // now
  std::uint32_t launch_stamp = 1;   // when the launch began
  std::uint32_t block_stamp = 1;    // when the running block began
  std::uint32_t barrier_stamp = 1;  // when the running block last passed a barrier
  unsigned thread_count = 0;
  Work* counted = nullptr;  // of the running launch; null: it is not counted

 private:
  friend void enter_fiber(boost::context::detail::transfer_t from);

  bool run_block(std::uint64_t number);
  void suspend(Thread& self);
  void switch_to(Context& from, Context& to);
  Thread* pick();
  void make_ready(unsigned warp, std::uint32_t lanes);
  [[noreturn]] void end_thread(Thread& self);
  [[noreturn]] void leave(Context& from);
  std::string describe_waits() const;
  std::uint32_t random();

  std::vector<Thread> threads_;
  Warp warps_[kMaxThreads / kWarp];
  std::uint32_t ready_warps_ = 0;
  unsigned current_warp_ = 0;
  unsigned at_barrier_ = 0;
  unsigned alive_ = 0;
  bool aborted_ = false;
  std::map<Fault, unsigned> reported_;
  std::uint64_t random_state_ = 1;
  Context main_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> block_starts_;
};

extern Execution* const execution_of_this_process;
inline Execution& the_execution() { return *execution_of_this_process; }

/// The thread that runs on this host thread; null outside kernels.
extern thread_local Thread* running __attribute__((tls_model("initial-exec")));

const char* name_of(Wait wait);

// What instructions do to memory, checked like the kernel's own accesses.
void check_read(const void* from, std::size_t bytes, std::size_t alignment);
void check_write(void* to, std::size_t bytes, std::size_t alignment, ByteState state = written);
bool in_shared_memory(const void* address);

/// The host was at device or pinned memory: a report where it must not.
void host_touched(const void* address, std::size_t bytes, bool writes);

template <typename Perform>
void Execution::meet(Wait instruction, unsigned mask, void* arguments, Perform perform) {
  Thread& self = *running;
  Warp& warp = warps_[self.warp()];
  const std::uint32_t bit = 1U << self.lane();
  if ((mask & bit) == 0) {
    fail(Fault::divergence, std::string(name_of(instruction)) + " with a mask that leaves out the calling lane");
  }
  self.wait = instruction;
  self.mask = mask;
  self.arguments = arguments;
  warp.waiting |= bit;
  if ((warp.waiting & mask) != mask) {
    suspend(self);
    return;
  }
  const Thread* const threads = &lane(0);
  for (unsigned i = 0; i < kWarp; ++i) {
    if ((mask >> i & 1) != 0 && (threads[i].wait != instruction || threads[i].mask != mask)) {
      fail(Fault::divergence, std::string(name_of(instruction)) + " meets lane " + std::to_string(i) + " at " +
                                  name_of(threads[i].wait) + (threads[i].mask != mask ? " with another mask" : ""));
    }
  }
  warp.waiting &= ~mask;
  perform(mask);
  self.wait = Wait::nothing;
  make_ready(self.warp(), mask & ~bit);
}

inline Thread& Execution::lane(unsigned lane_index) { return threads_[running->index / kWarp * kWarp + lane_index]; }

}  // namespace relucent::emulator
