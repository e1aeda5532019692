#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "relucent/config.h"
#include "server/access_log.h"
#include "server/engine.h"
#include "server/fair_queue.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "server/routes.h"
#include "server/span_exporter.h"
#include "server/tokens.h"

namespace relucent::server {

/// The lifetimes of the server: requests in their queue, the threads that compute them, reloads and the end.
class Service {
 public:
  /// Opens the model and the index of the profile as it is now; `before`: what it replaces, or null. Throws Error.
  using Open = std::function<std::shared_ptr<Engine>(const std::shared_ptr<Engine>& before)>;
  /// Tells the operator.
  using Say = std::function<void(const std::string&)>;

  struct Ended {
    std::size_t dropped = 0;  ///< requests without an answer
    /// Threads that did not end in time, for example in a scorer that looks at no stop signal. If there are any, end
    /// the process without destroying the Service.
    std::size_t stuck_threads = 0;
  };

  /// Throws Error.
  /// @param reopen  how often to look for a newer commit of the index; 0: only when asked by SIGHUP
  /// @param spans   where the spans of requests go
  /// @param writer  what may change the index; null: nothing
  Service(const ServerConfig& settings, Open open, Say say, std::chrono::seconds reopen = {},
          SpanExporter::Settings spans = {}, std::shared_ptr<DocumentWriter> writer = nullptr);
  /// Waits for the threads; requests that are still queued stay unanswered.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Listens and serves until a signal ends it: SIGINT or SIGTERM drains, a second one ends immediately, SIGHUP
  /// reloads.
  /// @param ready  called with the port before the first request
  Ended run(const std::function<void(std::uint16_t port)>& ready);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::shared_ptr<HttpExchange> exchange;
    const Route* route;
    std::shared_ptr<Engine> engine;
    Clock::time_point deadline;
    std::optional<TraceContext> trace = {};
    double queued = 0;  ///< milliseconds; 0 until it is computed
  };

  std::optional<HttpResponse> judge(const HttpRequest& head) const;
  HttpResponse answer_now(const Route& route, const HttpRequest& request) const;
  /// Throws Refusal.
  void require_token(const HttpRequest& request) const;
  void enqueue(const std::shared_ptr<HttpExchange>& exchange);
  void count_answer(const HttpRequest& request, const HttpResponse& response, bool cut);
  void start_threads();
  void start_thread(std::jthread& thread, std::function<void(const std::stop_token&)> work);
  std::size_t end_threads();
  void compute_jobs(FairQueue<Job>& queue);
  void compute(Job job);
  HttpResponse computed(const Job& job);
  void answer(const Job& job, HttpResponse response);
  void trace(const Job& job, HttpResponse& response) noexcept;
  void refuse_overdue();
  void on_signal(int signal);
  void reload_when_asked(const std::stop_token& stop);
  void reload();
  /// Returns why searches stay with the commit that they have; empty: they have the newest one.
  std::string refresh();

  HttpResponse ready() const;
  HttpResponse overloaded() const;
  HttpResponse draining_answer() const;
  std::string client_of(const HttpRequest& request) const;
  std::shared_ptr<Engine> engine() const;
  std::shared_ptr<const Tokens> tokens() const;

  ServerConfig settings_;
  Open open_;
  Say say_;
  std::chrono::seconds reopen_;
  std::shared_ptr<DocumentWriter> writer_;
  std::mutex opening_;           ///< one reload() or refresh() at a time
  std::string refresh_problem_;  ///< of the last refresh(), so that the same one is told once
  AccessLog access_log_;
  SpanExporter spans_;
  Metrics metrics_;
  FairQueue<Job> queue_;
  FairQueue<Job> writes_;  ///< requests that change the index, which one thread computes, apart from searches
  std::atomic<bool> draining_ = false;
  std::atomic<double> mean_seconds_ = 0;  ///< of recent requests' computations

  mutable std::mutex mutex_;  ///< guards what a reload replaces
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Tokens> tokens_;
  std::condition_variable_any reload_asked_;
  bool asked_ = false;

  int threads_ = 0;  ///< that run
  std::condition_variable thread_ended_;

  HttpServer* http_ = nullptr;
  std::vector<std::jthread> workers_;
  std::jthread writing_;
  std::jthread reloader_;
};

}  // namespace relucent::server
