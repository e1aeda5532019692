// Tests of a device that may not be there: a GPU, or the instruction set of another processor.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "relucent/error.h"

namespace relucent::testing {

/// Whether RELUCENT_REQUIRE_DEVICE=1 asks that every selected test runs (required_device.cpp).
inline bool every_test_is_required() {
  const char* const value = std::getenv("RELUCENT_REQUIRE_DEVICE");
  return value != nullptr && std::string_view(value) == "1";
}

/// Whether a device that cannot be used fails its tests instead of skipping them. An emulated GPU is always there.
inline bool device_is_required() {
  return every_test_is_required() || std::getenv("RELUCENT_CUDA_EMULATOR") != nullptr;
}

/// Whether a test may be skipped for this error, with which its device was refused.
inline bool may_skip(const Error& error) { return error.kind() == ErrorKind::device && !device_is_required(); }

}  // namespace relucent::testing

/// Runs statements that open a device. If this machine has no such device, skips the running test with the reason, or
/// fails it if the device is required.
#define RELUCENT_NEEDS_DEVICE(...)                    \
  do {                                                \
    try {                                             \
      __VA_ARGS__;                                    \
    } catch (const relucent::Error& error) {          \
      if (!relucent::testing::may_skip(error)) throw; \
      GTEST_SKIP() << "SKIPPED: " << error.what();    \
    }                                                 \
  } while (false)
