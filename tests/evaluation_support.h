#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "relucent/error.h"

namespace relucent::testing {

/// A folder of a test's own, removed with everything in it at the end.
class Scratch {
 public:
  Scratch() : folder_(std::filesystem::temp_directory_path() /
                      ("relucent-evaluation-" + std::to_string(::getpid()) + "-" + std::to_string(counter()++))) {
    std::filesystem::create_directories(folder_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

 private:
  static std::atomic<int>& counter() {
    static std::atomic<int> count = 0;
    return count;
  }
  std::filesystem::path folder_;
};

/// The message of the Error of this kind that `work` throws.
inline std::string error_of(ErrorKind kind, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

}  // namespace relucent::testing
