#include "tests/cuda_emulator/execution.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <new>
#include <numeric>

#include "tests/cuda_emulator/reports.h"
#include "tests/cuda_emulator/work.h"

namespace relucent::emulator {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

thread_local Thread* running __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr std::uint32_t kLastStamp = (1U << 21) - 1;  // a cell of the shadow keeps 21 bits of it
constexpr unsigned kReportsOfAKind = 4;               // of one launch
constexpr std::size_t kGuard = 4096;

// Whoever was left stays resumable.
void arrived(transfer_t from) {
  if (from.data != nullptr) {
    static_cast<Context*>(from.data)->fiber = from.fctx;
  }
}

unsigned random_bit(std::uint32_t mask, std::uint32_t random) {
  const int turn = static_cast<int>(random & 31U);
  return (static_cast<unsigned>(std::countr_zero(std::rotr(mask, turn))) + static_cast<unsigned>(turn)) & 31U;
}

std::string in_parentheses(const uint3& v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

}  // namespace

const char* name_of(Wait wait) {
  switch (wait) {
    case Wait::nothing: return "nothing";
    case Wait::block_barrier: return "__syncthreads";
    case Wait::warp_barrier: return "__syncwarp";
    case Wait::shuffle: return "a shuffle";
    case Wait::vote: return "a vote";
    case Wait::load_matrices: return "ldmatrix";
    case Wait::transpose: return "movmatrix";
    case Wait::mma: return "mma";
    case Wait::ended: return "its end";
  }
  return "";
}

Execution* const execution_of_this_process = new Execution;

Execution::Execution() : threads_(kMaxThreads) {
  const std::size_t span = kStackBytes + kGuard;
  void* const stacks =
      mmap(nullptr, span * kMaxThreads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) {
    throw std::bad_alloc();
  }
  for (unsigned i = 0; i < kMaxThreads; ++i) {
    auto* const bottom = static_cast<unsigned char*>(stacks) + i * span;
    mprotect(bottom, kGuard, PROT_NONE);
    Thread& thread = threads_[i];
    thread.index = i;
    thread.stack = reinterpret_cast<std::uintptr_t>(bottom) + kGuard;
    // A step from thread to thread, so that they use different sets of the cache.
    const std::uintptr_t top = thread.stack + kStackBytes - (i % kWarp) * 192 - sizeof(Place) - 64;
    thread.place = reinterpret_cast<Place*>(top / 64 * 64);
  }
}

std::uint32_t Execution::random() {
  random_state_ ^= random_state_ << 13;
  random_state_ ^= random_state_ >> 7;
  random_state_ ^= random_state_ << 17;
  return static_cast<std::uint32_t>(random_state_ >> 20);
}

std::uint32_t Execution::next_stamp() {
  if (stamp < kLastStamp) {
    return ++stamp;
  }
  // Out of numbers: start again. Earlier reads and writes can no longer be found in a race.
  device_memory().forget_accesses();
  std::memset(the_shared_memory().shadow.writes, 0, kSharedBytes * sizeof(std::uint32_t));
  std::memset(the_shared_memory().shadow.reads, 0, kSharedBytes * sizeof(std::uint32_t));
  for (Thread& thread : threads_) {
    thread.sync_stamp = 0;
  }
  const std::uint64_t block = block_starts_.empty() ? 0 : block_starts_.back().second;
  block_starts_ = {{1, block}};
  return stamp = launch_stamp = block_stamp = barrier_stamp = 1;
}

bool Execution::run(const Launch& what, std::uint64_t seed) {
  launch = &what;
  random_state_ = seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
  thread_count = what.block.x * what.block.y * what.block.z;
  aborted_ = false;
  reported_.clear();
  block_starts_.clear();
  launch_stamp = next_stamp();
  Work of_launch{1};
  counted = counts_work() ? &of_launch : nullptr;
  // All blocks in an order of the seed's: a step without a common divisor visits each of them once.
  const std::uint64_t blocks = std::uint64_t{what.grid.x} * what.grid.y * what.grid.z;
  std::uint64_t step = random() % blocks + 1;
  while (std::gcd(step, blocks) != 1) {
    ++step;
  }
  std::uint64_t number = random() % blocks;
  for (std::uint64_t i = 0; i < blocks && !aborted_; ++i, number = (number + step) % blocks) {
    run_block(number);
  }
  if (counted != nullptr) {
    std::string grid = std::to_string(what.grid.x);
    if (what.grid.y * what.grid.z > 1) {
      grid += " x " + std::to_string(what.grid.y * what.grid.z);
    }
    add_work(short_name(function_name(what.kernel.function)) + ' ' + grid + " blocks", of_launch);
    counted = nullptr;
  }
  launch = nullptr;
  return reported_.empty();
}

void enter_fiber(transfer_t from) {
  arrived(from);
  Execution& execution = the_execution();
  Thread& self = *running;
  const Kernel& kernel = execution.launch->kernel;
  kernel.call(kernel.arguments.get());
  execution.end_thread(self);
}

bool Execution::run_block(std::uint64_t number) {
  block_stamp = barrier_stamp = next_stamp();
  block_starts_.emplace_back(block_stamp, number);
  const dim3& grid = launch->grid;
  const dim3& block = launch->block;
  SharedMemory& shared = the_shared_memory();
  std::memset(shared.shadow.states, never_written, launch->shared_bytes);
  std::memset(reinterpret_cast<void*>(shared.base), 0xb9, launch->shared_bytes);
  for (Warp& warp : warps_) {
    warp = {};
  }
  ready_warps_ = 0;
  const uint3 block_place{static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                          static_cast<unsigned>(number / grid.x / grid.y)};
  for (unsigned i = 0; i < thread_count; ++i) {
    Thread& thread = threads_[i];
    *thread.place = {{i % block.x, i / block.x % block.y, i / block.x / block.y}, block_place, block, grid};
    thread.sync_stamp = 0;
    thread.sync_mask = 0;
    thread.wait = Wait::nothing;
    thread.open_group = 0;
    thread.copies.clear();
    thread.fiber =
        make_fcontext(thread.place, reinterpret_cast<std::uintptr_t>(thread.place) - thread.stack, enter_fiber);
    make_ready(i / kWarp, 1U << i % kWarp);
  }
  at_barrier_ = 0;
  alive_ = thread_count;
  current_warp_ = random_bit(ready_warps_, random());
  switch_to(main_, *pick());
  running = nullptr;
  return !aborted_;
}

void Execution::make_ready(unsigned warp, std::uint32_t lanes) {
  if (lanes != 0) {
    warps_[warp].ready |= lanes;
    ready_warps_ |= 1U << warp;
  }
}

// Mostly the same warp continues, which keeps its stacks in the cache.
Thread* Execution::pick() {
  if (ready_warps_ == 0) {
    return nullptr;
  }
  const std::uint32_t draw = random();
  if ((ready_warps_ >> current_warp_ & 1) == 0 || (draw & 0xf00U) == 0) {
    current_warp_ = random_bit(ready_warps_, draw >> 5);
  }
  Warp& warp = warps_[current_warp_];
  const unsigned lane_index = random_bit(warp.ready, draw);
  warp.ready &= ~(1U << lane_index);
  if (warp.ready == 0) {
    ready_warps_ &= ~(1U << current_warp_);
  }
  return &threads_[current_warp_ * kWarp + lane_index];
}

void Execution::switch_to(Context& from, Context& to) {
  if (&to != &main_) {
    running = static_cast<Thread*>(&to);
    running->wait = Wait::nothing;
  }
  arrived(jump_fcontext(to.fiber, &from));
}

void Execution::suspend(Thread& self) {
  Thread* const next = pick();
  if (next == nullptr) {
    fail(Fault::divergence, describe_waits());
  }
  switch_to(self, *next);
}

void Execution::leave(Context& from) {
  switch_to(from, main_);
  std::abort();  // nobody resumes a thread that has ended
}

void Execution::end_thread(Thread& self) {
  self.wait = Wait::ended;
  if (--alive_ == 0) {
    leave(self);
  }
  Thread* const next = pick();
  if (next == nullptr) {
    fail(Fault::divergence, describe_waits());
  }
  switch_to(self, *next);
  std::abort();
}

void Execution::block_barrier() {
  Thread& self = *running;
  self.wait = Wait::block_barrier;
  if (++at_barrier_ < thread_count) {
    suspend(self);
    return;
  }
  at_barrier_ = 0;
  barrier_stamp = next_stamp();
  self.wait = Wait::nothing;
  for (unsigned i = 0; i < thread_count; i += kWarp) {
    const unsigned lanes = std::min(kWarp, thread_count - i);
    make_ready(i / kWarp, 0xffffffffU >> (kWarp - lanes));
  }
  // Not this thread first, as a matter of course.
  if (Thread* const next = pick(); next != &self) {
    switch_to(self, *next);
  }
}

std::string Execution::describe_waits() const {
  std::string text = "no thread can continue:";
  for (unsigned i = 0; i < thread_count;) {
    unsigned end = i + 1;
    while (end < thread_count && threads_[end].wait == threads_[i].wait && threads_[end].mask == threads_[i].mask) {
      ++end;
    }
    text += (i == 0 ? " " : "; ");
    text +=
        end - i == 1 ? "thread " + std::to_string(i) : "threads " + std::to_string(i) + "-" + std::to_string(end - 1);
    text += threads_[i].wait == Wait::ended ? " ended" : std::string(" wait at ") + name_of(threads_[i].wait);
    i = end;
    if (text.size() > 600 && i < thread_count) {
      return text + "; ...";
    }
  }
  return text;
}

void Execution::report(Fault fault, const std::string& message) {
  const unsigned count = ++reported_[fault];
  if (count > kReportsOfAKind) {
    return;
  }
  Report made{fault, function_name(launch->kernel.function), {}, {}, message};
  if (running != nullptr) {
    const Place& at = *running->place;
    made.block[0] = at.block.x, made.block[1] = at.block.y, made.block[2] = at.block.z;
    made.thread[0] = at.thread.x, made.thread[1] = at.thread.y, made.thread[2] = at.thread.z;
  }
  if (count == kReportsOfAKind) {
    made.message += " (more of the kind in this launch is left out)";
  }
  add_report(std::move(made));
}

void Execution::fail(Fault fault, const std::string& message) {
  report(fault, message);
  aborted_ = true;
  leave(*running);
}

std::string Execution::name_thread(unsigned index) const {
  return "thread " + in_parentheses(threads_[index].place->thread);
}

std::string Execution::name_block(std::uint32_t at) const {
  std::uint64_t number = 0;
  for (const auto& [start, block] : block_starts_) {
    if (start <= at) {
      number = block;
    }
  }
  const dim3& grid = launch->grid;
  return "block " +
         in_parentheses({static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                         static_cast<unsigned>(number / grid.x / grid.y)});
}

}  // namespace relucent::emulator

const relucent::emulator::Place& relucent::emulator::place() { return *running->place; }

void __syncthreads() { relucent::emulator::the_execution().block_barrier(); }
