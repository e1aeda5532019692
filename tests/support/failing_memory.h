#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <string>

namespace relucent::testing {

/// What this thread's allocations do. The programs that use this header link failing_memory.cpp, which replaces the
/// operators new and delete.
struct Memory {
  bool watched = false;
  bool for_good = false;  ///< all allocations fail after the first one that does
  bool failed = false;
  std::size_t left = 0;     ///< allocations until one fails
  std::ptrdiff_t held = 0;  ///< allocations that are not freed

  /// Counts an allocation. Returns whether it fails.
  bool lacks() noexcept {
    if (!watched) return false;
    if (left > 0) {
      --left;
      return false;
    }
    if (failed && !for_good) return false;
    return failed = true;
  }
};
extern thread_local Memory memory;  // NOLINT

/// The outcome of an action in which the allocation after `allocations` others fails.
struct Outcome {
  bool failed = false;  ///< whether it had so many allocations
  bool told = false;    ///< by a std::bad_alloc
  std::string text;
};
template <typename Make>
Outcome with_failure(const Make& make, std::size_t allocations, bool for_good) {
  Outcome outcome;
  memory = {true, for_good, false, allocations, memory.held};
  try {
    outcome.text = make();
  } catch (const std::bad_alloc&) {
    outcome.told = true;
  }
  memory.watched = false;
  outcome.failed = memory.failed;
  return outcome;
}

/// Makes a text, which takes more than `least` allocations, again and again until none of them fails; with `step`, of
/// as many one.
template <typename Make>
void fail_each_allocation(const char* name, std::size_t least, const Make& make, std::size_t step = 1) {
  SCOPED_TRACE(name);
  const std::string expected = make();
  for (const bool for_good : {false, true}) {
    std::size_t allocations = 0;
    for (bool failed = true; failed; allocations += step) {
      const std::ptrdiff_t held = memory.held;
      {
        const Outcome outcome = with_failure(make, allocations, for_good);
        failed = outcome.failed;
        EXPECT_EQ(outcome.told ? expected : outcome.text, expected);
      }
      EXPECT_EQ(memory.held, held) << "left behind by allocation " << allocations;
    }
    EXPECT_GT(allocations, least);
  }
}

}  // namespace relucent::testing
