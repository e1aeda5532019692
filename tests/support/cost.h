#pragma once

// What a call costs: time, and memory while it runs.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>

namespace relucent::testing {

struct Cost {
  std::size_t bytes = 0;  ///< by which the process's memory grew at most; 0 under AddressSanitizer, which keeps its own
  double seconds = 0;
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
  const std::size_t before = memory_of_process("VmRSS");
  const auto start = std::chrono::steady_clock::now();
  work();
  Cost cost;
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
#ifndef __SANITIZE_ADDRESS__
  cost.bytes = std::max(memory_of_process("VmHWM"), before) - before;
#endif
  return cost;
}

}  // namespace relucent::testing
