#include "server/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "relucent/version.h"

namespace relucent::server {
namespace {

void write_head(const char* name, const char* type, const char* help, std::string& out) {
  fmt::format_to(std::back_inserter(out), "# HELP relucent_{} {}\n# TYPE relucent_{} {}\n", name, help, name, type);
}

template <typename Number>
void write_number(const char* name, const char* type, const char* help, Number value, std::string& out) {
  write_head(name, type, help, out);
  fmt::format_to(std::back_inserter(out), "relucent_{} {}\n", name, value);
}

}  // namespace

void Histogram::add(double seconds) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_ += seconds;
}

void Histogram::write(const std::string& name, const std::string& help, std::string& out) const {
  write_head(name.c_str(), "histogram", help.c_str(), out);
  const std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    fmt::format_to(std::back_inserter(out), "relucent_{}_bucket{{le=\"{}\"}} {}\n", name, bound, total);
  }
  fmt::format_to(std::back_inserter(out), "relucent_{0}_sum {1}\nrelucent_{0}_count {2}\n", name, sum_, total);
}

void Metrics::count_search(const std::string& index) {
  const std::lock_guard lock(mutex_);
  ++searches_of_[index];
}

void Metrics::count_answer(const std::string& path, int status) {
  const std::lock_guard lock(mutex_);
  ++answers_[{path, status}];
}

std::string Metrics::text(std::size_t waiting, std::uint64_t unlogged, const ScoreCacheCounts& cache,
                          const SpanCounts& spans) const {
  std::string out;
  write_head("info", "gauge", "Always 1; the label is the program's version.", out);
  fmt::format_to(std::back_inserter(out), "relucent_info{{version=\"{}\"}} 1\n", version());
  write_head("requests_total", "counter", "Answers by path and status.", out);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, count] : answers_) {
      fmt::format_to(std::back_inserter(out), "relucent_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", key.first,
                     key.second, count);
    }
  }
  write_number("queue_length", "gauge", "Requests waiting to be computed.", waiting, out);
  write_number("computing", "gauge", "Requests being computed.", computing.load(), out);
  write_number("connections", "gauge", "Open connections.", connections.load(), out);
  write_number("texts_total", "counter", "Texts scored for rerank requests.", texts.load(), out);
  write_number("searches_total", "counter", "Searches answered.", searches.load(), out);
  {
    const std::lock_guard lock(mutex_);
    if (!searches_of_.empty()) write_head("index_searches_total", "counter", "Searches answered, by index.", out);
    for (const auto& [index, count] : searches_of_) {
      fmt::format_to(std::back_inserter(out), "relucent_index_searches_total{{index=\"{}\"}} {}\n", index, count);
    }
  }
  write_number("degraded_total", "counter", "Answers that were degraded.", degraded.load(), out);
  write_number("cut_total", "counter", "Requests that did not arrive whole and answers not taken in time.", cut.load(),
               out);
  write_number("access_log_dropped_total", "counter", "Lines of the access log that were not written.", unlogged, out);
  write_number("spans_exported_total", "counter", "Spans of requests that the collector has taken.", spans.exported,
               out);
  write_number("spans_dropped_total", "counter", "Spans of requests that the collector did not get.", spans.dropped,
               out);
  write_number("reloads_total", "counter", "Times that index and profile were reloaded.", reloads.load(), out);
  write_number("reload_failures_total", "counter", "Reloads that failed and changed nothing.", failed_reloads.load(),
               out);
  write_number("cache_hits_total", "counter", "Scores taken from the cache ([rescorer] cache_mb).", cache.hits, out);
  write_number("cache_misses_total", "counter", "Scores looked up in the cache in vain.", cache.misses, out);
  write_number("cache_bytes", "gauge", "Memory of the cache.", cache.bytes, out);
  in_queue.write("queue_seconds", "Time that requests waited to be computed.", out);
  computed.write("compute_seconds", "Time that requests were computed.", out);
  return out;
}

}  // namespace relucent::server
