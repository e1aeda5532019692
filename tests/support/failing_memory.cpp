#include "tests/support/failing_memory.h"

#include <cstdlib>
#include <new>

namespace relucent::testing {

thread_local Memory memory;  // NOLINT

}  // namespace relucent::testing

// NOLINTBEGIN(misc-new-delete-overloads): those of arrays and of types with a size call these. A
// std::stable_sort asks without exceptions, which AddressSanitizer would otherwise answer from a heap of its own.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* const start = relucent::testing::memory.lacks() ? nullptr : std::malloc(size);
  if (start != nullptr) ++relucent::testing::memory.held;
  return start;
}
void* operator new(std::size_t size) {
  void* const start = operator new(size, std::nothrow);
  if (start == nullptr) throw std::bad_alloc();
  return start;
}
void operator delete(void* start) noexcept {
  if (start != nullptr) --relucent::testing::memory.held;
  std::free(start);
}
void operator delete(void* start, std::size_t) noexcept { operator delete(start); }
// NOLINTEND
