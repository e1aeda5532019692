// Replaces the C library's allocation by one that counts, for this program and the libraries that it loads.
#include "tests/growth/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

std::atomic<std::size_t> allocated = 0, peak = 0;

void* given(void* block) noexcept {
  if (block == nullptr) return nullptr;
  const std::size_t now = allocated += ::malloc_usable_size(block);
  for (std::size_t before = peak; before < now && !peak.compare_exchange_weak(before, now);) {
  }
  return block;
}

void taken(void* block) noexcept {
  if (block != nullptr) allocated -= ::malloc_usable_size(block);
}

}  // namespace

// NOLINTBEGIN: the C library's names
#pragma GCC visibility push(default)  // libraries also call these
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) noexcept { return given(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) noexcept { return given(__libc_calloc(count, size)); }
void* realloc(void* block, std::size_t size) noexcept {
  const std::size_t before = block == nullptr ? 0 : ::malloc_usable_size(block);
  void* const other = __libc_realloc(block, size);
  if (other == nullptr && size != 0) return nullptr;
  allocated -= before;
  return given(other);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept { return given(__libc_memalign(alignment, size)); }
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return given(__libc_memalign(alignment, size));
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = given(__libc_memalign(alignment, size));
  return *block == nullptr ? ENOMEM : 0;
}
void free(void* block) noexcept {
  taken(block);
  __libc_free(block);
}
}
#pragma GCC visibility pop
// NOLINTEND

namespace relucent::testing {

std::size_t allocated_bytes() noexcept { return allocated; }
std::size_t allocated_peak() noexcept { return peak; }
void restart_peak() noexcept { peak = allocated.load(); }

}  // namespace relucent::testing
