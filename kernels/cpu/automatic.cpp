#include "kernels/cpu/automatic.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>

namespace relucent::cpu {
namespace {

// How much faster bf16 must be to be chosen. Measured ratios are far from this, so noise does not matter: 0.5 (AVX-512
// BF16 on Intel processors), 2 (on AMD processors), about 15 (AMX).
constexpr double kWorthwhile = 1.25;

double seconds_of_thread() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double measure_peak(const VectorKernels& kernels, Arithmetic arithmetic) {
  constexpr double long_enough = 50e-6;  // seconds
  constexpr int runs = 8;                // the best one counts: interrupts and clock changes only slow a run down
  double best = 0;
  std::size_t rounds = 1;
  for (int run = 0; run < runs;) {
    const double start = seconds_of_thread();
    const double operations = kernels.spin(arithmetic, rounds);
    const double seconds = seconds_of_thread() - start;
    if (seconds < long_enough) {
      rounds *= 2;
      continue;
    }
    best = std::max(best, operations / seconds);
    ++run;
  }
  return best;
}

Arithmetic choose_automatically(const VectorKernels& kernels, MeasurePeak peak) {
  if (!kernels.native_bf16) return Arithmetic::fp32;
  const double fp32 = peak(kernels, Arithmetic::fp32), bf16 = peak(kernels, Arithmetic::bf16);
  return bf16 >= kWorthwhile * fp32 ? Arithmetic::bf16 : Arithmetic::fp32;
}

Arithmetic automatic_arithmetic(const VectorKernels& kernels) {
  static std::mutex mutex;
  static std::map<const VectorKernels*, Arithmetic> chosen;
  const std::lock_guard lock(mutex);
  const auto known = chosen.find(&kernels);
  if (known != chosen.end()) return known->second;
  return chosen.emplace(&kernels, choose_automatically(kernels, measure_peak)).first->second;
}

}  // namespace relucent::cpu
