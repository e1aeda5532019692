#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "relucent/score_cache.h"

namespace relucent::server {

/// A histogram of durations in seconds. Thread-safe.
class Histogram {
 public:
  void add(double seconds);
  /// Appends it in Prometheus' text format.
  void write(const std::string& name, const std::string& help, std::string& out) const;

 private:
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};
  mutable std::mutex mutex_;
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// Spans that a collector has taken, and others.
struct SpanCounts {
  std::uint64_t exported = 0, dropped = 0;
};

/// What the server counts, for GET /metrics. Thread-safe.
class Metrics {
 public:
  std::atomic<std::uint64_t> texts{0}, searches{0}, degraded{0}, cut{0}, reloads{0}, failed_reloads{0};
  std::atomic<std::int64_t> computing{0}, connections{0};
  Histogram in_queue, computed;

  void count_search(const std::string& index);
  void count_answer(const std::string& path, int status);
  /// Everything in Prometheus' text format.
  std::string text(std::size_t waiting, std::uint64_t unlogged, const ScoreCacheCounts& cache,
                   const SpanCounts& spans) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> answers_;  ///< by path and status
  std::map<std::string, std::uint64_t> searches_of_;              ///< by index, of those that have names
};

}  // namespace relucent::server
