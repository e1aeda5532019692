#include "index_tools/benchmarks/measurement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <thread>

#include "relucent/threads.h"
#include "relucent/times.h"

namespace relucent::benchmarks {

Measurement summarize(std::string name, std::vector<std::chrono::nanoseconds> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  Measurement result;
  result.name = std::move(name);
  result.runs = static_cast<int>(n);
  result.min = samples.front();
  result.max = samples.back();
  result.median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  return result;
}

std::chrono::nanoseconds percentile(std::vector<std::chrono::nanoseconds> samples, double share) {
  std::sort(samples.begin(), samples.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
  return samples[std::clamp<std::size_t>(rank, 1, samples.size()) - 1];
}

void run_clients(int clients, const std::function<void(int client)>& work) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(clients));
  std::vector<std::jthread> threads;
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&work, &failure = failures[static_cast<std::size_t>(client)], client] {
      try {
        work(client);
      } catch (...) {
        failure = std::current_exception();
      }
    });
  }
  threads.clear();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

MemoryUse memory_use() {
  MemoryUse use;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key; std::getline(status, key)) {
    double kib = 0;  // /proc counts in KiB, although it prints "kB"
    if (key == "VmRSS:" && status >> kib) use.resident_mb = kib * 1024 / 1e6;
    if (key == "VmHWM:" && status >> kib) use.peak_mb = kib * 1024 / 1e6;
  }
  return use;
}

double measured_read_bandwidth(int threads) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  constexpr int kRuns = 4;
  const auto count = static_cast<std::size_t>(threads > 0 ? threads : available_cores());
  const std::size_t words = kBytes / sizeof(std::uint64_t) / count;
  std::vector<std::vector<std::uint64_t>> parts(count);
  std::vector<std::uint64_t> sums(count);
  // Each thread touches its own part first, so that it lies in memory near it.
  run_clients(static_cast<int>(count), [&](int client) { parts[static_cast<std::size_t>(client)].assign(words, 1); });
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const std::chrono::nanoseconds time = time_of([&] {
      run_clients(static_cast<int>(count), [&](int client) {
        const auto& part = parts[static_cast<std::size_t>(client)];
        sums[static_cast<std::size_t>(client)] += std::accumulate(part.begin(), part.end(), std::uint64_t{0});
      });
    });
    best = std::max(best, static_cast<double>(count * words * sizeof(std::uint64_t)) / in_seconds(time));
  }
  // A compiler that knew the sums would not read.
  if (std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) != kRuns * count * words) return 0;
  return best;
}

std::chrono::nanoseconds time_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return time_since(start);
}

std::vector<std::chrono::nanoseconds> times_of(int runs, const std::function<void()>& work) {
  work();
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i < runs; ++i) times.push_back(time_of(work));
  return times;
}

void report(std::ostream& out, const std::vector<Measurement>& measurements, bool json) {
  if (json) {
    auto rows = nlohmann::ordered_json::array();
    for (const Measurement& m : measurements) {
      nlohmann::ordered_json row = {{"name", m.name},
                                    {"median_ms", in_milliseconds(m.median)},
                                    {"min_ms", in_milliseconds(m.min)},
                                    {"max_ms", in_milliseconds(m.max)},
                                    {"runs", m.runs}};
      for (const auto& [name, value] : m.figures) row[name] = value;
      rows.push_back(std::move(row));
    }
    out << rows.dump(2) << '\n';
    return;
  }
  std::size_t width = 4;
  for (const Measurement& m : measurements) width = std::max(width, m.name.size());
  const auto number = [&out](double value) { out << std::right << std::setw(11) << value; };
  out << std::fixed << std::setprecision(3) << std::left << std::setw(static_cast<int>(width)) << "name"
      << "  median ms     min ms     max ms   runs\n";
  for (const Measurement& m : measurements) {
    out << std::left << std::setw(static_cast<int>(width)) << m.name;
    number(in_milliseconds(m.median));
    number(in_milliseconds(m.min));
    number(in_milliseconds(m.max));
    out << std::setw(7) << m.runs;
    for (const auto& [name, value] : m.figures) {
      out << "  " << name << ' ' << std::setprecision(value >= 100 ? 0 : 2) << value << std::setprecision(3);
    }
    out << '\n';
  }
  out << std::defaultfloat << std::setprecision(6);
}

}  // namespace relucent::benchmarks
