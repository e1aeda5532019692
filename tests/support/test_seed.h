#pragma once

#include <cstdlib>

namespace relucent::testing {

/// A seed that is `seed` in the suite, and another one for each value of RELUCENT_TEST_SEED, so that a longer run tries
/// other inputs.
inline unsigned seed_for_run(unsigned seed) {
  const char* const run = std::getenv("RELUCENT_TEST_SEED");
  return seed + 1'000'003U * static_cast<unsigned>(run == nullptr ? 0 : std::strtoul(run, nullptr, 10));
}

}  // namespace relucent::testing
