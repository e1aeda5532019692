#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace relucent::benchmarks {

/// One line of a benchmark's report.
struct Measurement {
  std::string name;
  double median_ms = 0, min_ms = 0, max_ms = 0;
  int runs = 0;
  /// Further figures in the order to print them: "gflop_per_s", "postings", ...
  std::vector<std::pair<std::string, double>> figures;
};

/// Median, minimum and maximum of `samples_ms` (not empty; sorted in place).
Measurement summarize(std::string name, std::vector<double> samples_ms);

/// The smallest of `samples` (not empty) that at least `share` of them do not exceed; 0 < share <= 1.
double percentile(std::vector<double> samples, double share);

/// Calls work(client) on `clients` threads concurrently. After all have ended, rethrows the first exception, if any.
void run_clients(int clients, const std::function<void(int client)>& work);

struct MemoryUse {
  double resident_mb = 0, peak_mb = 0;
};

/// This process's memory according to /proc; zeros if unavailable.
MemoryUse memory_use();

/// Milliseconds that `work` takes.
double time_ms(const std::function<void()>& work);

/// Prints a table, or with `json` an array of objects with name, median_ms, min_ms, max_ms, runs and the figures.
void report(std::ostream& out, const std::vector<Measurement>& measurements, bool json);

}  // namespace relucent::benchmarks
