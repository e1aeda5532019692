// Every access of an emulated source to memory, which the compiler announces by -fsanitize=thread. Whether it is
// allowed, whether what it reads was written, and whether another thread may be at the same byte at the same time.
//
// The shadow keeps each byte's last write and last reads as stamp << 11 | who. Stamps count up at every
// barrier and block; as threads in truth run one after another, "before the last barrier" is a comparison of stamps.
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "tests/cuda_emulator/execution.h"

namespace relucent::emulator {
namespace {

constexpr unsigned kWhoBits = 11;
constexpr std::uint32_t kWho = (1U << kWhoBits) - 1;
constexpr std::uint32_t kLanesOf = 1024;  // + warp: several threads of that warp
constexpr std::uint32_t kSeveralBlocks = 2046;
constexpr std::uint32_t kSeveralWarps = 2047;
constexpr std::uint64_t kAllWritten = 0x0101010101010101U * written;

struct Moment {
  std::uint32_t mine;         // a cell as this access leaves it
  std::uint32_t before;       // cells below are of no concern: before the barrier, or before the launch
  std::uint32_t block_begin;  // own accesses since do not race
  bool shared;
};

// Whether what the cell tells of has surely ended before the running thread's access.
bool ordered(std::uint32_t cell, const Moment& moment) {
  if (cell < moment.before) {
    return true;
  }
  const Execution& execution = the_execution();
  const std::uint32_t stamp = cell >> kWhoBits;
  const std::uint32_t who = cell & kWho;
  if (stamp < execution.block_stamp || who == kSeveralBlocks) {
    return false;
  }
  if (stamp < execution.barrier_stamp) {
    return true;
  }
  const Thread& self = *running;
  if (who < kLanesOf) {
    return who == self.index ||
           (who / kWarp == self.warp() && stamp < self.sync_stamp && (self.sync_mask >> who % kWarp & 1) != 0);
  }
  return who == kLanesOf + self.warp() && stamp < self.sync_stamp && self.sync_mask == 0xffffffffU;
}

std::uint32_t with_read(std::uint32_t cell, const Moment& moment) {
  if (cell < moment.before) {
    return moment.mine;
  }
  const std::uint32_t now = moment.mine & ~kWho;
  const std::uint32_t who = cell & kWho;
  if (who == kSeveralBlocks) {
    return cell;  // as good as a later one: it stays a concern until the launch ends
  }
  if (moment.shared && who == kSeveralWarps) {
    return now | kSeveralWarps;
  }
  const Execution& execution = the_execution();
  if (cell >> kWhoBits < execution.block_stamp) {
    return now | kSeveralBlocks;
  }
  if (ordered(cell, moment)) {
    return moment.mine;
  }
  const std::uint32_t warp = running->warp();
  const bool same_warp = who < kLanesOf ? who / kWarp == warp : who == kLanesOf + warp;
  return now | (same_warp ? kLanesOf + warp : kSeveralWarps);
}

std::string describe(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const SharedMemory& shared = the_shared_memory();
  if (at - shared.base < kSharedBytes) {
    return "byte " + std::to_string(at - shared.base) + " of " + std::to_string(the_execution().launch->shared_bytes) +
           " bytes of shared memory";
  }
  if (device_memory().contains(at)) {
    // Before or behind: of the allocation in whose pages it lies, or the last one that begins before it.
    const auto& all = device_memory().by_address();
    auto next = all.upper_bound(at);
    if (const Allocation* const around = device_memory().find(at); around != nullptr) {
      next = std::next(all.find(around->address));
    }
    if (next != all.begin()) {
      const Allocation& allocation = device_memory().slot(std::prev(next)->second);
      const auto offset = static_cast<std::ptrdiff_t>(at - allocation.address);
      return "byte " + std::to_string(offset) + " of an allocation of " + std::to_string(allocation.bytes) + " bytes" +
             (allocation.device == the_execution().launch->device ? "" : ", another device's");
    }
    return "device memory that is not allocated";
  }
  char text[40];
  std::snprintf(text, sizeof text, "address %p", address);
  return text;
}

std::string name_who(std::uint32_t cell) {
  const Execution& execution = the_execution();
  const std::uint32_t who = cell & kWho;
  const std::uint32_t stamp = cell >> kWhoBits;
  std::string name = who < kLanesOf          ? execution.name_thread(who)
                     : who == kSeveralBlocks ? "threads of several blocks"
                     : who == kSeveralWarps  ? "threads of several warps"
                                             : "threads of warp " + std::to_string(who - kLanesOf);
  if (who != kSeveralBlocks && stamp < execution.block_stamp) {
    name += " of " + execution.name_block(stamp);
  }
  return name;
}

[[gnu::noinline]] void report_races(const unsigned char* at, std::size_t bytes, const std::uint32_t* cells,
                                    const char* what, const Moment& moment) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if ((i == 0 || cells[i] != cells[i - 1]) && !ordered(cells[i], moment)) {
      the_execution().report(Fault::race, std::string(what) + " " + name_who(cells[i]) + " at " + describe(at + i) +
                                              ", with no barrier between");
      return;
    }
  }
}

[[gnu::noinline]] void report_state(const unsigned char* at, std::size_t bytes, std::uint8_t* states) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (states[i] != written) {
      the_execution().report(
          Fault::uninitialised,
          (states[i] == on_its_way ? "read before its cp.async was waited for: " : "read but never written: ") +
              describe(at + i));
      std::memset(states, written, bytes);
      return;
    }
  }
}

// Whichever of the two comes last wins.
[[gnu::noinline]] void report_pending(const unsigned char* at, std::size_t bytes, const std::uint8_t* states) {
  const std::size_t i = static_cast<std::size_t>(std::find(states, states + bytes, on_its_way) - states);
  the_execution().report(Fault::race, "written while a cp.async to it is on its way: " + describe(at + i));
}

// Whether no race is possible: the cell's access ended before, or is this thread's own.
[[gnu::always_inline]] inline bool quiet(std::uint32_t cell, const Moment& moment) {
  return cell < moment.before || (((cell ^ moment.mine) & kWho) == 0 && cell >= moment.block_begin);
}

[[gnu::always_inline]] inline std::uint64_t load_pair(const std::uint32_t* cells) {
  std::uint64_t pair;
  std::memcpy(&pair, cells, sizeof pair);
  return pair;
}

// Whether the bytes have the same cell: almost always so, and then one comparison does for all of them.
[[gnu::always_inline]] inline bool uniform(const std::uint32_t* cells, std::size_t bytes) {
  if (bytes % 2 != 0) {
    return std::all_of(cells, cells + bytes, [&](std::uint32_t cell) { return cell == cells[0]; });
  }
  const std::uint64_t first = load_pair(cells);
  std::uint64_t different = first ^ (first << 32 | first >> 32);
  for (std::size_t i = 2; i < bytes; i += 2) {
    different |= load_pair(cells + i) ^ first;
  }
  return different == 0;
}

[[gnu::always_inline]] inline bool all_quiet(const std::uint32_t* cells, std::size_t bytes, const Moment& moment) {
  return uniform(cells, bytes)
             ? quiet(cells[0], moment)
             : std::all_of(cells, cells + bytes, [&](std::uint32_t cell) { return quiet(cell, moment); });
}

[[gnu::always_inline]] inline void fill(std::uint32_t* cells, std::size_t bytes, std::uint32_t cell) {
  for (std::size_t i = 0; i < bytes; ++i) {
    cells[i] = cell;
  }
}

// The states of up to eight bytes as one number; bytes beyond these count as written.
[[gnu::always_inline]] inline std::uint64_t load_states(const std::uint8_t* states, std::size_t bytes) {
  std::uint64_t all = kAllWritten;
  std::memcpy(&all, states, std::min(bytes, sizeof all));
  return all;
}

[[gnu::always_inline]] inline bool all_written(const std::uint8_t* states, std::size_t bytes) {
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < bytes; i += 8) {
    different |= load_states(states + i, bytes - i) ^ kAllWritten;
  }
  return different == 0;
}

[[gnu::always_inline]] inline bool any_on_its_way(const std::uint8_t* states, std::size_t bytes) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < bytes; i += 8) {
    found |= load_states(states + i, bytes - i) & kAllWritten * on_its_way;
  }
  return found != 0;
}

[[gnu::always_inline]] inline void note_read(std::uint32_t* cells, std::size_t bytes, const Moment& moment) {
  if (uniform(cells, bytes)) {
    const std::uint32_t cell = cells[0];
    const std::uint32_t after = quiet(cell, moment) ? moment.mine : with_read(cell, moment);
    if (after != cell) {
      fill(cells, bytes, after);
    }
    return;
  }
  std::uint32_t before = cells[0];
  std::uint32_t after = with_read(before, moment);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (cells[i] != before) {
      before = cells[i];
      after = with_read(before, moment);
    }
    cells[i] = after;
  }
}

template <bool Writes>
[[gnu::noinline]] void count(Work& work, const Shadow& shadow, std::size_t bytes, const Moment& moment) {
  (Writes ? work.written : work.read) += bytes;
  for (std::size_t i = 0; i < bytes; ++i) {
    const bool first = shadow.writes[i] < moment.before && (Writes || shadow.reads[i] < moment.before);
    (Writes ? work.written_once : work.read_once) += first ? 1 : 0;
  }
}

template <bool Writes>
[[gnu::always_inline]] inline void touch(const unsigned char* at, std::size_t bytes, const Shadow& shadow,
                                         const Moment& moment, ByteState state) {
  if (!all_quiet(shadow.writes, bytes, moment)) {
    report_races(at, bytes, shadow.writes, Writes ? "written as by" : "read, and written by", moment);
  }
  if constexpr (Writes) {
    if (!all_quiet(shadow.reads, bytes, moment)) {
      report_races(at, bytes, shadow.reads, "written, and read by", moment);
    }
    fill(shadow.writes, bytes, moment.mine);
    if (any_on_its_way(shadow.states, bytes)) {
      report_pending(at, bytes, shadow.states);
    }
    std::memset(shadow.states, state, bytes);
  } else {
    if (!all_written(shadow.states, bytes)) {
      report_state(at, bytes, shadow.states);
    }
    note_read(shadow.reads, bytes, moment);
  }
}

// Constants of the loaded files: what nobody can write, or only the dynamic linker could.
bool is_constant(std::uintptr_t address, std::size_t bytes) {
  struct Search {
    std::uintptr_t address;
    std::size_t bytes;
    bool found = false;
  } search{address, bytes};
  dl_iterate_phdr(
      [](dl_phdr_info* file, std::size_t, void* it) {
        auto& wanted = *static_cast<Search*>(it);
        for (int i = 0; i < file->dlpi_phnum; ++i) {
          const auto& part = file->dlpi_phdr[i];
          const bool constant = part.p_type == PT_GNU_RELRO || (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0);
          const std::uintptr_t begin = file->dlpi_addr + part.p_vaddr;
          if (constant && wanted.address >= begin && wanted.address + wanted.bytes <= begin + part.p_memsz) {
            wanted.found = true;
          }
        }
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

[[gnu::noinline]] void touch_elsewhere(const void* address, std::size_t bytes, bool writes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  Execution& execution = the_execution();
  const Kernel& kernel = execution.launch->kernel;
  const auto arguments = reinterpret_cast<std::uintptr_t>(kernel.arguments.get());
  if (!writes && at - arguments < kernel.argument_bytes) {
    return;
  }
  static thread_local std::uintptr_t known = 0;  // constants are read again and again
  if (!writes && at / 64 == known && at % 64 + bytes <= 64) {
    return;
  }
  if (!writes && is_constant(at, bytes)) {
    known = is_constant(at / 64 * 64, 64) ? at / 64 : 0;
    return;
  }
  execution.fail(Fault::host_memory,
                 std::string(writes ? "a write to" : "a read of") + " the host's memory at " + describe(address));
}

[[gnu::noinline, noreturn]] void fail_bounds(const void* address, std::size_t bytes, bool writes) {
  the_execution().fail(Fault::out_of_bounds, std::string(writes ? "a write of " : "a read of ") +
                                                 std::to_string(bytes) + " bytes at " + describe(address));
}

[[gnu::noinline, noreturn]] void fail_alignment(const void* address, std::size_t alignment) {
  the_execution().fail(Fault::misaligned, describe(address) + " is not aligned to " + std::to_string(alignment));
}

template <bool Writes>
[[gnu::always_inline]] inline void access(const void* address, std::size_t bytes, std::size_t alignment,
                                          ByteState state = written) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  Thread* const self = running;
  if (self == nullptr) {
    if (memory != nullptr && at - memory->base < 2 * kArenaBytes) [[unlikely]] {
      host_touched(address, bytes, Writes);
    }
    return;
  }
  if (at - self->stack < kStackBytes) {
    return;
  }
  Execution& execution = the_execution();
  Moment moment;
  moment.mine = execution.stamp << kWhoBits | self->index;
  Shadow shadow;
  const SharedMemory& block = the_shared_memory();
  if (at - block.base < kSharedBytes) {
    const std::size_t offset = at - block.base;
    if (offset + bytes > execution.launch->shared_bytes) [[unlikely]] {
      fail_bounds(address, bytes, Writes);
    }
    moment.before = execution.barrier_stamp << kWhoBits;
    moment.block_begin = 0;
    moment.shared = true;
    shadow = {block.shadow.states + offset, block.shadow.writes + offset, block.shadow.reads + offset};
  } else if (device_memory().contains(at)) {
    const Allocation* const allocation = device_memory().find(at);
    if (allocation == nullptr || at < allocation->address || at + bytes > allocation->address + allocation->bytes ||
        allocation->device != execution.launch->device) [[unlikely]] {
      fail_bounds(address, bytes, Writes);
    }
    moment.before = execution.launch_stamp << kWhoBits;
    moment.block_begin = execution.block_stamp << kWhoBits;
    moment.shared = false;
    shadow = device_memory().shadow(at);
  } else {
    touch_elsewhere(address, bytes, Writes);
    return;
  }
  if (at % alignment != 0) [[unlikely]] {
    fail_alignment(address, alignment);
  }
  if (execution.counted != nullptr && !moment.shared) [[unlikely]] {
    count<Writes>(*execution.counted, shadow, bytes, moment);
  }
  touch<Writes>(static_cast<const unsigned char*>(address), bytes, shadow, moment, state);
}

}  // namespace

void check_read(const void* from, std::size_t bytes, std::size_t alignment) { access<false>(from, bytes, alignment); }

void check_write(void* to, std::size_t bytes, std::size_t alignment, ByteState state) {
  access<true>(to, bytes, alignment, state);
}

bool in_shared_memory(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - the_shared_memory().base < kSharedBytes;
}

}  // namespace relucent::emulator

// ---- what the compiler calls ----------------------------------------------------------------------------------------

using relucent::emulator::access;

#define EMULATOR_ACCESS(bytes)                                                    \
  void __tsan_read##bytes(void* at) { access<false>(at, bytes, bytes); }          \
  void __tsan_write##bytes(void* at) { access<true>(at, bytes, bytes); }          \
  void __tsan_volatile_read##bytes(void* at) { access<false>(at, bytes, bytes); } \
  void __tsan_volatile_write##bytes(void* at) { access<true>(at, bytes, bytes); } \
  void __tsan_unaligned_read##bytes(void* at) { access<false>(at, bytes, 1); }    \
  void __tsan_unaligned_write##bytes(void* at) { access<true>(at, bytes, 1); }

extern "C" {
EMULATOR_ACCESS(1)
EMULATOR_ACCESS(2)
EMULATOR_ACCESS(4)
EMULATOR_ACCESS(8)
EMULATOR_ACCESS(16)
void __tsan_read_range(void* at, unsigned long bytes) { access<false>(at, bytes, 1); }
void __tsan_write_range(void* at, unsigned long bytes) { access<true>(at, bytes, 1); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void __tsan_atomic_signal_fence(int) { std::atomic_signal_fence(std::memory_order_seq_cst); }

// The host's atomics: always in the strongest order.
#define EMULATOR_ATOMIC(bits, T)                                                                                      \
  T __tsan_atomic##bits##_load(const volatile T* at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }           \
  void __tsan_atomic##bits##_store(volatile T* at, T v, int) { __atomic_store_n(at, v, __ATOMIC_SEQ_CST); }           \
  T __tsan_atomic##bits##_exchange(volatile T* at, T v, int) { return __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_fetch_add(volatile T* at, T v, int) { return __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_fetch_sub(volatile T* at, T v, int) { return __atomic_fetch_sub(at, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_fetch_and(volatile T* at, T v, int) { return __atomic_fetch_and(at, v, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_fetch_or(volatile T* at, T v, int) { return __atomic_fetch_or(at, v, __ATOMIC_SEQ_CST); }   \
  T __tsan_atomic##bits##_fetch_xor(volatile T* at, T v, int) { return __atomic_fetch_xor(at, v, __ATOMIC_SEQ_CST); } \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T v, int, int) {                     \
    return __atomic_compare_exchange_n(at, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
  }                                                                                                                   \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T v, int, int) {                       \
    return __atomic_compare_exchange_n(at, expected, v, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
  }
EMULATOR_ATOMIC(8, unsigned char)
EMULATOR_ATOMIC(16, unsigned short)
EMULATOR_ATOMIC(32, unsigned int)
EMULATOR_ATOMIC(64, unsigned long)
}
