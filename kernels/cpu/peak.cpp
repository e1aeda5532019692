#include "relucent/kernels/peak.h"

#include <fmt/core.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "kernels/cpu/vector_kernels.h"
#include "kernels/cuda_module.h"
#include "relucent/error.h"

namespace relucent {
namespace {

cpu::Arithmetic arithmetic_of(const BackendInfo& info, const cpu::VectorKernels& kernels) {
  if (info.precision == Precision::int16) return cpu::Arithmetic::int16;
  if (info.precision == Precision::int8) return cpu::Arithmetic::int8;
  return info.precision == Precision::bf16 && kernels.native_bf16 ? cpu::Arithmetic::bf16 : cpu::Arithmetic::fp32;
}

double seconds_of(const cpu::VectorKernels& kernels, cpu::Arithmetic arithmetic, std::size_t rounds,
                  double& operations) {
  const auto start = std::chrono::steady_clock::now();
  operations = kernels.spin(arithmetic, rounds);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Peak measured_peak(const BackendInfo& info) {
  if (info.device.starts_with("cuda")) {
    const double best = cuda::measure_peak(info);
    return {best, best};
  }
  const cpu::VectorKernels* const found = cpu::vector_kernels_named(info.instruction_set);
  if (info.device != "cpu" || found == nullptr) return {};
  const cpu::VectorKernels& kernels = *found;
  const cpu::Arithmetic arithmetic = arithmetic_of(info, kernels);

  std::size_t rounds = 1;
  double operations = 0;
  while (seconds_of(kernels, arithmetic, rounds, operations) < 5e-3) rounds *= 2;
  std::vector<double> rates;
  constexpr int runs = 7;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> of_thread(static_cast<std::size_t>(info.threads));
    std::barrier together(info.threads);
    std::vector<std::jthread> threads;
    threads.reserve(of_thread.size());
    try {
      for (double& rate : of_thread) {
        threads.emplace_back([&] {
          together.arrive_and_wait();
          double done = 0;
          const double seconds = seconds_of(kernels, arithmetic, rounds, done);
          rate = done / seconds;
        });
      }
    } catch (const std::exception& error) {
      // The running threads wait for the missing ones, and the vector's destructor waits for the running ones.
      for (std::size_t missing = threads.size(); missing < of_thread.size(); ++missing) together.arrive_and_drop();
      throw Error(
          ErrorKind::io, "threads",
          fmt::format("the system started only {} of {} threads: {}", threads.size(), info.threads, error.what()),
          "use fewer threads");
    }
    threads.clear();
    double all = 0;
    for (const double rate : of_thread) all += rate;
    rates.push_back(all);
  }
  const auto [lowest, best] = std::minmax_element(rates.begin(), rates.end());
  return {*best, *lowest};
}

}  // namespace relucent
