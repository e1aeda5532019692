#pragma once

// What a call costs: time, and memory while it runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <string>

namespace relucent::testing {

struct Cost {
  std::size_t bytes = 0;  ///< by which the process's memory grew at most; 0 under AddressSanitizer, which keeps its own
  double seconds = 0;     ///< of the processor, so that other programs do not matter
};

/// A line of /proc/self/status in bytes: VmRSS is in use, VmHWM was in use at most.
inline std::size_t memory_of_process(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string name, rest; status >> name && std::getline(status, rest);) {
    if (name == line + ":") return std::stoul(rest) * 1024;
  }
  return 0;
}

/// Runs `work`. The peak of the memory is that of `work` alone, whatever ran before it.
template <typename Work>
Cost cost_of(Work&& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts again
  [[maybe_unused]] const std::size_t before = memory_of_process("VmRSS");
  const std::clock_t start = std::clock();
  work();
  Cost cost;
  cost.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#ifndef __SANITIZE_ADDRESS__
  cost.bytes = std::max(memory_of_process("VmHWM"), before) - before;
#endif
  return cost;
}

/// What any file may cost, whatever is in it.
constexpr std::size_t kMostBytes = 1'000'000'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 60;  // sanitizers take up to ten times as long
#else
constexpr double kMostSeconds = 5;
#endif

/// Runs `work` and expects it to cost less than that.
template <typename Work>
void expect_affordable(Work&& work) {
  const Cost cost = cost_of(work);
  EXPECT_LT(cost.bytes, kMostBytes);
  EXPECT_LT(cost.seconds, kMostSeconds);
}

}  // namespace relucent::testing
