#include "tests/cuda_emulator/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace relucent::emulator {
namespace {

void* reserve(std::size_t bytes, bool open) {
  void* const range = mmap(nullptr, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return range;
}

std::size_t pages_up(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

Arena::Arena(std::uintptr_t base, std::size_t bytes, bool shadowed) : base_(base), bytes_(bytes) {
  pages_ = static_cast<std::uint32_t*>(reserve(bytes / kPage * sizeof(std::uint32_t), true));
  if (shadowed) {
    shadow_.states = static_cast<std::uint8_t*>(reserve(bytes, false));
    shadow_.writes = static_cast<std::uint32_t*>(reserve(bytes * sizeof(std::uint32_t), false));
    shadow_.reads = static_cast<std::uint32_t*>(reserve(bytes * sizeof(std::uint32_t), false));
  }
}

void Arena::protect(std::uintptr_t from, std::size_t bytes, bool open) {
  const auto change = [&](void* part, std::size_t size) {
    if (!open) {
      madvise(part, size, MADV_DONTNEED);
    }
    if (mprotect(part, size, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
      throw std::bad_alloc();
    }
  };
  change(reinterpret_cast<void*>(from), bytes);
  if (shadow_.states != nullptr) {
    const std::size_t offset = from - base_;
    change(shadow_.states + offset, bytes);
    change(shadow_.writes + offset, bytes * sizeof(std::uint32_t));
    change(shadow_.reads + offset, bytes * sizeof(std::uint32_t));
  }
}

std::uintptr_t Arena::allocate(std::size_t bytes, int device) {
  const std::size_t span = pages_up(bytes + kLead, kPage) + kPage;  // and a page that stays closed
  if (span > bytes_ - kPage) {
    return 0;
  }
  std::size_t place = next_;
  if (place + span > bytes_) {  // once round: the first gap that is wide enough
    place = kPage;
    for (const auto& [address, slot] : by_address_) {
      const std::size_t begin = (address - base_) / kPage * kPage;
      if (place + span <= begin) {
        break;
      }
      place = begin + pages_up(slots_[slot - 1].bytes + kLead, kPage) + kPage;
    }
    if (place + span > bytes_) {
      return 0;
    }
  }
  next_ = place + span;
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slots_.emplace_back();
    slot = static_cast<std::uint32_t>(slots_.size());
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  const std::uintptr_t from = base_ + place;
  protect(from, span - kPage, true);
  std::memset(reinterpret_cast<void*>(from), 0xa7, span - kPage);  // never zeros by chance
  slots_[slot - 1] = {from + kLead, bytes, device};
  by_address_[from + kLead] = slot;
  for (std::size_t page = 0; page < (span - kPage) / kPage; ++page) {
    pages_[place / kPage + page] = slot;
  }
  return from + kLead;
}

bool Arena::release(std::uintptr_t address) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) {
    return false;
  }
  const std::uint32_t slot = found->second;
  const std::size_t span = pages_up(slots_[slot - 1].bytes + kLead, kPage);
  const std::uintptr_t from = address - kLead;
  for (std::size_t page = 0; page < span / kPage; ++page) {
    pages_[(from - base_) / kPage + page] = 0;
  }
  protect(from, span, false);
  slots_[slot - 1] = {};
  free_slots_.push_back(slot);
  by_address_.erase(found);
  return true;
}

void Arena::release_all() {
  while (!by_address_.empty()) {
    release(by_address_.begin()->first);
  }
}

bool Arena::holds(std::uintptr_t address, std::size_t bytes) const {
  if (!contains(address)) {
    return false;
  }
  const Allocation* const allocation = find(address);
  return allocation != nullptr && address >= allocation->address && bytes <= allocation->bytes &&
         address - allocation->address <= allocation->bytes - bytes;
}

void Arena::forget_accesses() {
  for (const auto& [address, slot] : by_address_) {
    const std::size_t offset = address - kLead - base_;
    const std::size_t bytes = pages_up(slots_[slot - 1].bytes + kLead, kPage) * sizeof(std::uint32_t);
    madvise(shadow_.writes + offset, bytes, MADV_DONTNEED);
    madvise(shadow_.reads + offset, bytes, MADV_DONTNEED);
  }
}

Memory::Memory()
    : base(reinterpret_cast<std::uintptr_t>(reserve(2 * kArenaBytes, false))),
      device(base, kArenaBytes, true),
      pinned(base + kArenaBytes, kArenaBytes, false) {
  constexpr std::size_t kAround = 64 * 1024;  // closed on both sides
  auto* const range = static_cast<unsigned char*>(reserve(kSharedBytes + 2 * kAround, false)) + kAround;
  if (mprotect(range, kSharedBytes, PROT_READ | PROT_WRITE) != 0) {
    throw std::bad_alloc();
  }
  shared.base = reinterpret_cast<std::uintptr_t>(range);
  shared.shadow.states = static_cast<std::uint8_t*>(reserve(kSharedBytes, true));
  shared.shadow.writes = static_cast<std::uint32_t*>(reserve(kSharedBytes * sizeof(std::uint32_t), true));
  shared.shadow.reads = static_cast<std::uint32_t*>(reserve(kSharedBytes * sizeof(std::uint32_t), true));
}

Memory* const memory = new Memory;

}  // namespace relucent::emulator
