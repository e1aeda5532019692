#include "server/service.h"

#include <fmt/core.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <csignal>
#include <exception>
#include <new>
#include <optional>

#include "base/ascii.h"
#include "relucent/error.h"
#include "relucent/threads.h"
#include "server/answer.h"
#include "server/origin.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

constexpr int kMaxConcurrency = 8;
constexpr std::chrono::milliseconds kEndTime{300};  // of threads that were told to end

int concurrency_of(const ServerConfig& settings) {
  return settings.concurrency > 0 ? settings.concurrency : std::min(2 * available_cores(), kMaxConcurrency);
}

/// The models of engines that are gone leave holes in the heap, which glibc keeps: after some reloads half of a
/// server's memory.
void return_free_memory() noexcept {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

class InProgress {
 public:
  explicit InProgress(std::atomic<std::int64_t>& count) : count_(count) { ++count_; }
  ~InProgress() { --count_; }
  InProgress(const InProgress&) = delete;
  InProgress& operator=(const InProgress&) = delete;

 private:
  std::atomic<std::int64_t>& count_;
};

}  // namespace

Service::Service(const ServerConfig& settings, Open open, Say say, std::chrono::seconds reopen,
                 SpanExporter::Settings spans, std::shared_ptr<DocumentWriter> writer)
    : settings_(settings),
      open_(std::move(open)),
      say_(std::move(say)),
      reopen_(reopen),
      writer_(std::move(writer)),
      access_log_(settings.access_log),
      spans_(std::move(spans), say_),
      queue_(static_cast<std::size_t>(settings.queue)),
      writes_(static_cast<std::size_t>(settings.queue)),
      engine_(open_(nullptr)),
      tokens_(std::make_shared<const Tokens>(Tokens::load(settings.token_file))) {
  try {
    start_threads();
  } catch (...) {
    (void)end_threads();
    throw;
  }
}

void Service::start_threads() {
  workers_.resize(static_cast<std::size_t>(concurrency_of(settings_)));
  for (std::jthread& worker : workers_) {
    start_thread(worker, [this](const std::stop_token&) { compute_jobs(queue_); });
  }
  if (writer_) start_thread(writing_, [this](const std::stop_token&) { compute_jobs(writes_); });
  start_thread(reloader_, [this](const std::stop_token& stop) { reload_when_asked(stop); });
}

Service::~Service() { (void)end_threads(); }

/// How many threads do not end: one that computes may be stuck in a scorer, one that logs in a pipe that nobody reads.
std::size_t Service::end_threads() {
  queue_.close();
  writes_.close();
  reloader_.request_stop();
  const bool logged = access_log_.close(kEndTime);
  const bool exported = spans_.close(kEndTime);
  std::unique_lock lock(mutex_);
  thread_ended_.wait_for(lock, kEndTime, [this] { return threads_ == 0; });
  return static_cast<std::size_t>(threads_) + (logged ? 0 : 1) + (exported ? 0 : 1);
}

Service::Ended Service::run(const std::function<void(std::uint16_t port)>& ready) {
  Ended ended;
  {
    HttpServer http(settings_,
                    {.judge = [this](const HttpRequest& head) { return judge(head); },
                     .handle = [this](std::shared_ptr<HttpExchange> exchange) { enqueue(exchange); },
                     .finished = [this](const HttpRequest& request, const HttpResponse& response,
                                        bool cut) { count_answer(request, response, cut); },
                     .signal = [this](int signal) { on_signal(signal); },
                     .opened = [this](std::size_t open) { metrics_.connections = static_cast<std::int64_t>(open); },
                     .tick = [this] { refuse_overdue(); }});
    http_ = &http;
    ready(http.port());
    if (!is_loopback(settings_.host) && !tokens()->required()) {
      say_("warning: whoever reaches this address may use the server; set a token with --token-file or RELUCENT_TOKEN");
    }
    http.run();
    ended.dropped = http.dropped();
  }
  http_ = nullptr;
  queue_.take_if([](const Job&) { return true; });
  writes_.take_if([](const Job&) { return true; });
  ended.stuck_threads = end_threads();
  return ended;
}

void Service::count_answer(const HttpRequest& request, const HttpResponse& response, bool cut) {
  metrics_.count_answer(std::string(route_path(request.path)), response.status);
  if (cut) ++metrics_.cut;
  access_log_.add(request, response, client_of(request), cut);
}

/// The answer to a request that needs no body, or whose body is not worth reading.
std::optional<HttpResponse> Service::judge(const HttpRequest& head) const {
  try {
    const bool token_required = tokens()->required();
    if (!token_required) require_known_host(head, is_loopback(settings_.host));
    const Route* route = find_route(head.method, head.path);
    if (route == nullptr) return no_route_answer(head);
    if (route->action != Action::compute) return answer_now(*route, head);
    require_token(head);
    require_own_page(head);
    if (draining_) return draining_answer();
    require_computable(*route, head, *engine(), writer_ != nullptr);
    return std::nullopt;
  } catch (const Refusal& refusal) {
    return answer_of(refusal);
  }
}

HttpResponse Service::answer_now(const Route& route, const HttpRequest& request) const {
  if (!route.open) require_token(request);
  switch (route.action) {
    case Action::page: return page_answer(route.path);
    case Action::health: return {200, JsonObject().text("status", "ok").str()};
    case Action::ready: return ready();
    case Action::info: return info_answer(*engine(), settings_, concurrency_of(settings_));
    case Action::openapi: return openapi_answer(*engine(), settings_, tokens()->required(), writer_ != nullptr);
    case Action::metrics:
      return {
          200,
          metrics_.text(queue_.size(), access_log_.dropped(), engine()->cache(), {spans_.exported(), spans_.dropped()}),
          std::string(route.type)};
    case Action::compute: break;
  }
  throw Refusal(500, "Backend", "this is computed in the queue");
}

void Service::require_token(const HttpRequest& request) const {
  const auto tokens = this->tokens();
  if (!tokens->required() || tokens->find(request.header("authorization"))) return;
  throw Refusal(401, "Validation", "a bearer token is needed");
}

void Service::enqueue(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const auto longest = settings_.request_timeout;
  Job job{exchange, find_route(request.method, request.path), engine(), request.arrived + longest, request.trace};
  if (!job.trace && spans_.enabled()) job.trace = new_trace();
  if (const auto asked = timeout_in(request); asked && *asked < longest.count()) {
    job.deadline = request.arrived + std::chrono::milliseconds(*asked);
  }
  FairQueue<Job>& queue = job.route->writes ? writes_ : queue_;
  if (auto refused = queue.push(client_of(request), std::move(job))) answer(*refused, overloaded());
}

void Service::start_thread(std::jthread& thread, std::function<void(const std::stop_token&)> work) {
  const std::lock_guard lock(mutex_);
  thread = std::jthread([this, work = std::move(work)](const std::stop_token& stop) {
    work(stop);
    const std::lock_guard ended(mutex_);
    --threads_;
    thread_ended_.notify_all();
  });
  ++threads_;
}

void Service::compute_jobs(FairQueue<Job>& queue) {
  for (;;) {
    try {
      auto job = queue.pop();
      if (!job) return;
      compute(std::move(*job));
    } catch (const std::exception&) {  // no memory; the exchange answers when it ends
    }
  }
}

void Service::compute(Job job) {
  if (job.exchange->gone().stop_requested()) {
    answer(job, answer_of({499, "Timeout", "the client has closed the connection"}));
    return;
  }
  const auto start = Clock::now();
  job.queued = in_milliseconds(start - job.exchange->request().arrived);
  metrics_.in_queue.add(job.queued / 1000);
  HttpResponse response = [&] {
    const InProgress counted(metrics_.computing);
    return computed(job);
  }();
  const double seconds = in_milliseconds(time_since(start)) / 1000;
  metrics_.computed.add(seconds);
  mean_seconds_ = mean_seconds_ * 0.9 + seconds * 0.1;
  response.measures.insert(response.measures.begin(), {{"queue_ms", job.queued}, {"compute_ms", seconds * 1000}});
  trace(job, response);
  // What the request held is let go before the next one is waited for.
  const auto exchange = std::move(job.exchange);
  job = {};
  exchange->answer(std::move(response));
}

HttpResponse Service::computed(const Job& job) {
  StopSignal stop;
  stop.deadline = job.deadline;
  stop.stop = job.exchange->gone();
  try {
    if (stop.past_deadline()) throw deadline_passed();
    return job.route->compute({job.exchange->request(), settings_, *job.engine, metrics_, stop,
                               job.trace ? &*job.trace : nullptr, writer_.get(), [this] { return refresh(); }},
                              job.route->form);
  } catch (const Refusal& refusal) {
    return answer_of(refusal);
  } catch (const Error& error) {
    return answer_of(refusal_of(error));
  } catch (const std::bad_alloc&) {
    return answer_of({503, "Overloaded", "not enough memory for this request"});
  } catch (const std::exception& error) {
    say_(fmt::format("unexpected: {}", error.what()));
  } catch (...) {  // a scorer module may throw anything
    say_("unexpected: an unknown exception");
  }
  return answer_of({424, "Backend", "the request failed unexpectedly"});
}

void Service::answer(const Job& job, HttpResponse response) {
  trace(job, response);
  job.exchange->answer(std::move(response));
}

/// Exports a span from the request's arrival to its answer, with what took the time in between.
void Service::trace(const Job& job, HttpResponse& response) noexcept {
  if (!spans_.enabled() || !job.trace || !is_sampled(*job.trace)) return;
  try {
    const HttpRequest& request = job.exchange->request();
    Span span;
    span.trace = *job.trace;
    if (!request.trace) response.trace = job.trace;
    span.name = fmt::format("{} {}", request.method, request.path);
    span.end = std::chrono::system_clock::now();
    span.start =
        span.end - std::chrono::duration_cast<std::chrono::system_clock::duration>(time_since(request.arrived));
    span.attributes = {{"http.request.method", Span::Text{request.method}},
                       {"url.path", Span::Text{request.path}},
                       {"http.route", Span::Text{request.path}},
                       {"http.response.status_code", std::int64_t{response.status}}};
    for (const auto& [name, value] : response.measures) {
      std::visit([&, key = &name](auto number) { span.attributes.emplace_back("relucent." + *key, number); }, value);
    }
    if (!response.note.empty()) span.attributes.emplace_back("relucent.note", Span::Text{response.note});
    span.failed = response.status >= 500;
    if (job.queued > 0) {
      span.steps.push_back({"queue", std::chrono::duration_cast<std::chrono::nanoseconds>(
                                         std::chrono::duration<double, std::milli>(job.queued))});
    }
    for (const auto& [name, duration] : response.steps) span.steps.push_back({name, duration});
    spans_.add(std::move(span));
  } catch (const std::exception&) {  // no memory; the request is answered all the same
  }
}

/// Answers those in the queue whose deadline has passed or whose client has gone.
void Service::refuse_overdue() {
  const auto now = Clock::now();
  for (FairQueue<Job>* queue : {&queue_, &writes_}) {
    for (const Job& job :
         queue->take_if([&](const Job& one) { return now >= one.deadline || one.exchange->gone().stop_requested(); })) {
      answer(job, answer_of(deadline_passed()));
    }
  }
}

HttpResponse Service::overloaded() const {
  const double wait = mean_seconds_ * static_cast<double>(queue_.size()) / concurrency_of(settings_);
  HttpResponse response = answer_of({429, "Overloaded", "too many requests are waiting"});
  response.headers = {{"Retry-After", fmt::format("{:.0f}", std::clamp(std::ceil(wait), 1.0, 60.0))}};
  return response;
}

HttpResponse Service::draining_answer() const { return answer_of({503, "Unhealthy", "the server is ending"}); }

HttpResponse Service::ready() const {
  return draining_ ? draining_answer() : HttpResponse{200, JsonObject().text("status", "ready").str()};
}

/// Whose turn it is when this request is computed.
std::string Service::client_of(const HttpRequest& request) const {
  if (!settings_.client_header.empty()) {
    const auto client = request.header(lower_ascii(settings_.client_header));
    if (!client.empty()) return std::string(client.substr(0, 200));
  }
  const auto token = tokens()->find(request.header("authorization"));
  return token && tokens()->count() > 1 ? fmt::format("token {}", *token + 1) : request.address;
}

std::shared_ptr<Engine> Service::engine() const {
  const std::lock_guard lock(mutex_);
  return engine_;
}

std::shared_ptr<const Tokens> Service::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

void Service::on_signal(int signal) {
  if (signal == SIGHUP) {
    {
      const std::lock_guard lock(mutex_);
      asked_ = true;
    }
    reload_asked_.notify_one();
    return;
  }
  if (draining_.exchange(true)) {
    http_->stop();
    return;
  }
  say_(fmt::format("finishing {} requests; a second signal ends immediately",
                   queue_.size() + writes_.size() + static_cast<std::size_t>(metrics_.computing.load())));
  http_->drain();
}

void Service::reload_when_asked(const std::stop_token& stop) {
  const auto asked = [this] { return asked_; };
  for (;;) {
    bool whole = false;
    {
      std::unique_lock lock(mutex_);
      whole = reopen_.count() > 0 ? reload_asked_.wait_for(lock, stop, reopen_, asked)
                                  : reload_asked_.wait(lock, stop, asked);
      asked_ = false;
    }
    if (stop.stop_requested()) return;
    try {
      whole ? reload() : (void)refresh();
    } catch (const std::exception&) {  // no memory, not even for a message
    }
  }
}

/// The newest commit of the index, with the profile and the model as they are.
std::string Service::refresh() {
  const std::lock_guard one(opening_);
  const auto start = Clock::now();
  std::string problem = "unknown exception";
  try {
    auto engine = this->engine()->refreshed();
    refresh_problem_.clear();
    if (!engine) return {};
    {
      const std::lock_guard lock(mutex_);
      engine_.swap(engine);
    }
    ++metrics_.reloads;
    say_(fmt::format("reopened the index in {:.0f} ms", in_milliseconds(time_since(start))));
    return {};
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {  // a scorer module may throw anything
  }
  if (problem == refresh_problem_) return problem;
  ++metrics_.failed_reloads;
  say_(fmt::format("the index was not reopened, and is served as before: {}", problem));
  refresh_problem_ = problem;
  return problem;
}

/// Requests that are computed or queued keep the engine with which they came.
void Service::reload() {
  const std::lock_guard one(opening_);
  const auto start = Clock::now();
  std::string problem = "unknown exception";
  try {
    auto tokens = std::make_shared<const Tokens>(Tokens::load(settings_.token_file));
    auto engine = open_(this->engine());
    access_log_.reopen();
    {
      const std::lock_guard lock(mutex_);
      engine_.swap(engine);
      tokens_.swap(tokens);
    }
    engine.reset();
    return_free_memory();
    ++metrics_.reloads;
    say_(fmt::format("reloaded in {:.0f} ms", in_milliseconds(time_since(start))));
    return;
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {  // a scorer module may throw anything
  }
  ++metrics_.failed_reloads;
  say_(fmt::format("not reloaded, and serving as before: {}", problem));
}

}  // namespace relucent::server
