#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "server/trace.h"

namespace relucent::server {

/// A request's part of a trace.
struct Span {
  /// A structure, because libstdc++ 12 takes for granted that a std::variant with a std::string is never without a
  /// value: if there is no memory for a copy, it destroys what has not been made.
  struct Text {
    std::string text;
  };
  using Attribute = std::pair<std::string, std::variant<Text, std::int64_t, double>>;
  /// What the request spent its time on, one after the other.
  struct Step {
    std::string_view name;  ///< of static storage
    std::chrono::nanoseconds duration;
  };

  TraceContext trace;  ///< without a parent_id it is the trace's first span
  std::string name;
  std::chrono::system_clock::time_point start, end;
  std::vector<Attribute> attributes;
  bool failed = false;
  std::vector<Step> steps;  ///< from `start` on
};

/// The request of OTLP/HTTP, as JSON, that brings these spans and one for each step.
/// https://opentelemetry.io/docs/specs/otlp/#otlphttp
std::string otlp_json(const std::vector<Span>& spans, const std::string& service);

/// Sends spans to a collector from a thread of its own, in batches: no request waits for it. What exceeds the queue,
/// and what the collector does not take, is dropped and counted. Thread-safe.
class SpanExporter {
 public:
  /// Sends a body of JSON; returns why that failed, or an empty string. Ends soon after it is told to stop.
  using Send = std::function<std::string(const std::string& body, const std::stop_token& stop)>;
  struct Settings {
    Send send;  ///< null: no spans are exported
    std::string service = "relucent";
    std::size_t queue = 2048, batch = 512;     ///< spans
    std::chrono::milliseconds interval{1000};  ///< between two batches that are not full
  };

  /// @param say  tells the operator, once, that the collector does not take spans
  SpanExporter(Settings settings, std::function<void(const std::string&)> say);
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  bool enabled() const noexcept { return settings_.send != nullptr; }
  void add(Span span) noexcept;
  std::uint64_t exported() const noexcept { return exported_; }
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// Sends what waits, for at most `limit`. False if the thread has not ended by then.
  bool close(std::chrono::milliseconds limit);

 private:
  void export_batches(const std::stop_token& stop);
  void export_batch(const std::vector<Span>& batch, const std::stop_token& stop);

  Settings settings_;
  std::function<void(const std::string&)> say_;
  bool said_ = false;  // the thread's
  std::atomic<std::uint64_t> exported_ = 0, dropped_ = 0;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Span> waiting_;
  bool closing_ = false, ended_ = true;
  std::jthread thread_;
};

}  // namespace relucent::server
