#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace relucent::testing {

inline std::filesystem::path folder_from(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : fallback;
}

/// Answers of independent programs, read in place; tests run from the source root.
inline std::filesystem::path goldens() { return folder_from("RELUCENT_GOLDENS", "../shared/goldens"); }
/// Real collections, read in place.
inline std::filesystem::path test_data() { return folder_from("RELUCENT_TEST_DATA", "../shared/data"); }

}  // namespace relucent::testing

/// Skips the running test, saying which folder it wanted.
#define RELUCENT_NEEDS(folder)                                                                        \
  do {                                                                                                \
    const std::filesystem::path needed = (folder);                                                    \
    if (!std::filesystem::exists(needed)) {                                                           \
      GTEST_SKIP() << "SKIPPED: needs " << needed << " (set RELUCENT_GOLDENS or RELUCENT_TEST_DATA)"; \
    }                                                                                                 \
  } while (false)
