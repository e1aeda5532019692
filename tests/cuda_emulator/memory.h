/// Address ranges of the emulator: device memory with its shadow, pinned host memory, a block's shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace relucent::emulator {

/// What is known of one byte: was it written (a copy on its way is not), by whom last, by whom read last. A cell is
/// stamp << 11 | who; see access.cpp.
enum ByteState : std::uint8_t { never_written = 0, written = 1, on_its_way = 2 };

struct Shadow {
  std::uint8_t* states = nullptr;
  std::uint32_t* writes = nullptr;
  std::uint32_t* reads = nullptr;
};

struct Allocation {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  int device = -1;
};

/// Hands out addresses of a reserved range, upwards, unmapped pages between them, and reuses none before the end.
class Arena {
 public:
  Arena(std::uintptr_t base, std::size_t bytes, bool shadowed);
  Arena(const Arena&) = delete;

  /// 0 where the range has no more room.
  std::uintptr_t allocate(std::size_t bytes, int device);
  bool release(std::uintptr_t address);
  void release_all();

  bool contains(std::uintptr_t address) const { return address - base_ < bytes_; }
  /// The allocation in whose pages the address lies, which may be past its last byte, or null.
  const Allocation* find(std::uintptr_t address) const {
    const std::uint32_t slot = pages_[(address - base_) / kPage];
    return slot == 0 ? nullptr : &slots_[slot - 1];
  }
  /// The whole range lies inside one allocation.
  bool holds(std::uintptr_t address, std::size_t bytes) const;
  std::size_t live() const { return by_address_.size(); }
  const std::map<std::uintptr_t, std::uint32_t>& by_address() const { return by_address_; }
  const Allocation& slot(std::uint32_t index) const { return slots_[index - 1]; }

  Shadow shadow(std::uintptr_t address) const {
    const std::size_t offset = address - base_;
    return {shadow_.states + offset, shadow_.writes + offset, shadow_.reads + offset};
  }
  /// Forgets who read and wrote, not what is written.
  void forget_accesses();

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kLead = 256;  // so that nothing is aligned better than cudaMalloc promises

  void protect(std::uintptr_t from, std::size_t bytes, bool open);

  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
  std::size_t next_ = kPage;
  Shadow shadow_;
  std::uint32_t* pages_ = nullptr;
  std::vector<Allocation> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::map<std::uintptr_t, std::uint32_t> by_address_;
};

inline constexpr std::size_t kSharedBytes = 256 * 1024;
/// One block's shared memory, the same for all since they run one after another.
struct SharedMemory {
  std::uintptr_t base = 0;
  Shadow shadow;
};

struct Memory {
  Memory();
  std::uintptr_t base;  // both arenas lie in one range, so that the host's accesses cost one comparison
  Arena device;
  Arena pinned;
  SharedMemory shared;
};

// Made when the library is loaded, and never destroyed: modules may free their memory while the program ends.
extern Memory* const memory;
inline constexpr std::size_t kArenaBytes = std::size_t{64} << 30;

inline Arena& device_memory() { return memory->device; }
inline Arena& pinned_memory() { return memory->pinned; }
inline SharedMemory& the_shared_memory() { return memory->shared; }

}  // namespace relucent::emulator
