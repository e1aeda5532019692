#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace relucent::testing {

inline std::filesystem::path folder_from(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : fallback;
}

/// Answers of independent programs that the repository has no copy of, read in place; tests run from the source root.
inline std::filesystem::path goldens() { return folder_from("RELUCENT_GOLDENS", "../shared/goldens"); }

/// The golden file or directory `name`: that of the repository, else the one outside, which may be missing too.
inline std::filesystem::path golden_path(const std::filesystem::path& name) {
  const std::filesystem::path own = "tests/goldens" / name;
  return std::filesystem::exists(own) ? own : goldens() / name;
}

/// The files of the golden directory `name` in the repository and outside, by their names. A name that both have stands
/// for the repository's file.
inline std::vector<std::filesystem::path> golden_listing(const std::filesystem::path& name) {
  std::map<std::string, std::filesystem::path> found;
  for (const std::filesystem::path& folder : {"tests/goldens" / name, goldens() / name}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      found.try_emplace(entry.path().filename().string(), entry.path());
    }
  }
  std::vector<std::filesystem::path> files;
  files.reserve(found.size());
  for (const auto& [file_name, path] : found) files.push_back(path);
  return files;
}

/// Real collections, read in place.
inline std::filesystem::path test_data() { return folder_from("RELUCENT_TEST_DATA", "../shared/data"); }

}  // namespace relucent::testing

/// Skips the running test and names the folder that it wanted.
#define RELUCENT_NEEDS(folder)                                                                        \
  do {                                                                                                \
    const std::filesystem::path& needed = (folder);                                                   \
    if (!std::filesystem::exists(needed)) {                                                           \
      GTEST_SKIP() << "SKIPPED: needs " << needed << " (set RELUCENT_GOLDENS or RELUCENT_TEST_DATA)"; \
    }                                                                                                 \
  } while (false)
