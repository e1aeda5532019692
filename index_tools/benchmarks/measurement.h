#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace relucent::benchmarks {

/// One line of a benchmark's report.
struct Measurement {
  std::string name;
  std::chrono::nanoseconds median{0}, min{0}, max{0};
  int runs = 0;
  /// Further figures in the order to print them: "gflop_per_s", "postings", ...
  std::vector<std::pair<std::string, double>> figures;
};

/// Median, minimum and maximum of `samples` (not empty; sorted in place).
Measurement summarize(std::string name, std::vector<std::chrono::nanoseconds> samples);

/// The smallest of `samples` (not empty) that at least `share` of them do not exceed; 0 < share <= 1.
std::chrono::nanoseconds percentile(std::vector<std::chrono::nanoseconds> samples, double share);

/// Calls work(client) on `clients` threads concurrently. After all have ended, rethrows the first exception, if any.
void run_clients(int clients, const std::function<void(int client)>& work);

struct MemoryUse {
  double resident_mb = 0, peak_mb = 0;
};

/// This process's memory according to /proc; zeros if unavailable.
MemoryUse memory_use();

/// Bytes per second that so many threads (0: one per core) read from memory, the best of a few runs over a buffer that
/// no cache holds.
double measured_read_bandwidth(int threads);

constexpr double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// How long `work` takes.
std::chrono::nanoseconds time_of(const std::function<void()>& work);

/// How long `work` takes each of so many times, after a first one to warm up.
std::vector<std::chrono::nanoseconds> times_of(int runs, const std::function<void()>& work);

/// Prints a table, or with `json` an array of objects with name, median_ms, min_ms, max_ms, runs and the figures.
void report(std::ostream& out, const std::vector<Measurement>& measurements, bool json);

}  // namespace relucent::benchmarks
