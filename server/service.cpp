#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <string_view>

#include "relucent/error.h"
#include "relucent/threads.h"
#include "relucent/version.h"
#include "server/json.h"
#include "server/json_object.h"
#include "server/origin.h"
#include "server/page.h"
#include "server/refusal.h"
#include "server/rerank_requests.h"
#include "server/search_requests.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

constexpr int kMaxConcurrency = 8;
constexpr std::chrono::milliseconds kEndTime{300};  // of threads that were told to end
constexpr const char* kTimeoutHeader = "x-request-timeout-ms";

int concurrency_of(const ServerConfig& settings) {
  return settings.concurrency > 0 ? settings.concurrency : std::min(2 * available_cores(), kMaxConcurrency);
}

HttpResponse not_allowed(std::string_view methods) {
  HttpResponse response = answer_of({405, "Validation", fmt::format("the method must be {}", methods)});
  response.headers.emplace_back("Allow", methods);
  return response;
}

bool is_json(std::string_view content_type) {
  constexpr std::string_view json = "application/json";
  if (content_type.size() < json.size()) return false;
  const bool same = std::equal(json.begin(), json.end(), content_type.begin(),
                               [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  return same &&
         (content_type.size() == json.size() || content_type[json.size()] == ';' || content_type[json.size()] == ' ');
}

std::optional<std::int64_t> timeout_in(const HttpRequest& request) {
  const std::string_view text = request.header(kTimeoutHeader);
  if (text.empty()) return std::nullopt;
  std::int64_t milliseconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (problem != std::errc() || end != text.data() + text.size() || milliseconds < 1) {
    throw not_valid(fmt::format("the header {} must be a whole number of milliseconds", kTimeoutHeader));
  }
  return milliseconds;
}

void set_timing(const StageTimes& times, std::size_t characters, std::int64_t tokens, const HttpRequest& request,
                double queued, HttpResponse& response) {
  const auto add = [&](const char* name, double value) {
    response.headers.emplace_back(name, fmt::format("{:.0f}", value));
  };
  response.headers.emplace_back("x-compute-type", "relucent");
  add("x-compute-characters", static_cast<double>(characters));
  add("x-compute-tokens", static_cast<double>(tokens));
  add("x-compute-time", in_milliseconds(times.tokenize + times.encode));
  add("x-total-time", in_milliseconds(time_since(request.arrived)));
  add("x-tokenization-time", in_milliseconds(times.tokenize));
  add("x-queue-time", queued);
  add("x-inference-time", in_milliseconds(times.encode));
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

Refusal deadline_passed() { return {504, "Timeout", "the request's deadline passed"}; }

}  // namespace

/// A path that takes POST and is computed in the queue.
struct Service::Route {
  std::string_view path;
  HttpResponse (Service::*compute)(const Job&, StopSignal);
  RerankForm form = RerankForm::tei;
};

const std::vector<Service::Route>& Service::routes() {
  static const std::vector<Route> all = {
      {"/rerank", &Service::rerank, RerankForm::tei},
      {"/", &Service::rerank, RerankForm::tei},
      {"/v1/rerank", &Service::rerank, RerankForm::v1},
      {"/v2/rerank", &Service::rerank, RerankForm::v2},
      {"/search", &Service::search},
      {"/statistics", &Service::statistics},
  };
  return all;
}

Service::Service(const ServerConfig& settings, Open open, Say say)
    : settings_(settings),
      open_(std::move(open)),
      say_(std::move(say)),
      access_log_(settings.access_log),
      queue_(static_cast<std::size_t>(settings.queue)),
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
    start_thread(worker, [this](const std::stop_token&) { compute_jobs(); });
  }
  start_thread(reloader_, [this](const std::stop_token& stop) { reload_when_asked(stop); });
}

Service::~Service() { (void)end_threads(); }

/// How many threads do not end: one that computes may be stuck in a scorer, one that logs in a pipe that nobody reads.
std::size_t Service::end_threads() {
  queue_.close();
  reloader_.request_stop();
  const bool logged = access_log_.close(kEndTime);
  std::unique_lock lock(mutex_);
  thread_ended_.wait_for(lock, kEndTime, [this] { return threads_ == 0; });
  return static_cast<std::size_t>(threads_) + (logged ? 0 : 1);
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
  ended.stuck_threads = end_threads();
  return ended;
}

void Service::count_answer(const HttpRequest& request, const HttpResponse& response, bool cut) {
  const auto is_path = [&](const auto& one) { return one.path == request.path; };
  const bool known = std::ranges::any_of(routes(), is_path) || std::ranges::any_of(page_files(), is_path) ||
                     request.path == "/health" || request.path == "/ready" || request.path == "/info" ||
                     request.path == "/metrics";
  metrics_.count_answer(known ? request.path : "other", response.status);
  if (cut) ++metrics_.cut;
  access_log_.add(request, response, client_of(request), cut);
}

const Service::Route* Service::route_of(const HttpRequest& request) {
  if (request.method != "POST") return nullptr;
  const auto route = std::ranges::find_if(routes(), [&](const Route& one) { return one.path == request.path; });
  return route == routes().end() ? nullptr : &*route;
}

/// The answer to a request that needs no body, or whose body is not worth reading.
std::optional<HttpResponse> Service::judge(const HttpRequest& head) const {
  try {
    const bool token_required = tokens()->required();
    if (!token_required) require_known_host(head, is_loopback(settings_.host));
    const Route* route = route_of(head);
    if (route == nullptr) return answer_now(head);
    require_token(head);
    require_own_page(head);
    if (draining_) return draining_answer();
    if (!is_json(head.header("content-type"))) {
      throw Refusal(415, "Validation", "the header Content-Type must be application/json");
    }
    const bool reranks = route->compute == &Service::rerank;
    const auto engine = this->engine();
    if (reranks ? !engine->can_rerank() : !engine->can_search()) {
      throw Refusal(404, "Validation", reranks ? "this server has no model" : "this server has no index");
    }
    timeout_in(head);
    return std::nullopt;
  } catch (const Refusal& refusal) {
    return answer_of(refusal);
  }
}

/// What needs no computation, and requests that nothing answers.
HttpResponse Service::answer_now(const HttpRequest& request) const {
  const bool get = request.method == "GET" || request.method == "HEAD";
  for (const PageFile& file : page_files()) {
    if (file.path != request.path) continue;
    if (!get) return not_allowed(request.path == "/" ? "GET, HEAD, POST" : "GET, HEAD");
    HttpResponse response{200, std::string(file.content), std::string(file.type)};
    response.headers = {{"Content-Security-Policy", std::string(kPagePolicy)},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cache-Control", "no-cache"}};
    return response;
  }
  if (std::ranges::any_of(routes(), [&](const Route& route) { return route.path == request.path; })) {
    return not_allowed("POST");
  }
  const bool open = request.path == "/health" || request.path == "/ready";
  if (!open && request.path != "/info" && request.path != "/metrics") {
    return answer_of({404, "Validation", "there is nothing at this path"});
  }
  if (!get) return not_allowed("GET, HEAD");
  if (request.path == "/health") return {200, JsonObject().text("status", "ok").str()};
  if (request.path == "/ready") return ready();
  require_token(request);
  if (request.path == "/info") return info();
  return {200, metrics_.text(queue_.size(), access_log_.dropped(), engine()->cache()),
          "text/plain; version=0.0.4; charset=utf-8"};
}

void Service::require_token(const HttpRequest& request) const {
  const auto tokens = this->tokens();
  if (!tokens->required() || tokens->find(request.header("authorization"))) return;
  throw Refusal(401, "Validation", "a bearer token is needed");
}

void Service::enqueue(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const auto longest = settings_.request_timeout;
  Job job{exchange, route_of(request), engine(), request.arrived + longest};
  if (const auto asked = timeout_in(request); asked && *asked < longest.count()) {
    job.deadline = request.arrived + std::chrono::milliseconds(*asked);
  }
  if (auto refused = queue_.push(client_of(request), std::move(job))) refused->exchange->answer(overloaded());
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

void Service::compute_jobs() {
  for (;;) {
    try {
      auto job = queue_.pop();
      if (!job) return;
      compute(std::move(*job));
    } catch (const std::exception&) {  // no memory; the exchange answers when it ends
    }
  }
}

void Service::compute(Job job) {
  if (job.exchange->gone().stop_requested()) {
    job.exchange->answer(answer_of({499, "Timeout", "the client has closed the connection"}));
    return;
  }
  const auto start = Clock::now();
  const double queued = in_milliseconds(start - job.exchange->request().arrived);
  metrics_.in_queue.add(queued / 1000);
  HttpResponse response = [&] {
    const InProgress counted(metrics_.computing);
    return computed(job);
  }();
  const double seconds = in_milliseconds(time_since(start)) / 1000;
  metrics_.computed.add(seconds);
  mean_seconds_ = mean_seconds_ * 0.9 + seconds * 0.1;
  response.measures.insert(response.measures.begin(), {{"queue_ms", queued}, {"compute_ms", seconds * 1000}});
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
    return (this->*job.route->compute)(job, stop);
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

namespace {

void shorten(StopSignal& stop, std::int64_t timeout_ms, const HttpRequest& request) {
  if (timeout_ms == 0) return;
  stop.deadline = std::min(*stop.deadline, request.arrived + std::chrono::milliseconds(timeout_ms));
  if (stop.past_deadline()) throw deadline_passed();
}

}  // namespace

HttpResponse Service::rerank(const Job& job, StopSignal stop) {
  const HttpRequest& http = job.exchange->request();
  const double queued = in_milliseconds(time_since(http.arrived));
  const RerankRequest request = parse_rerank(http.body, job.route->form, settings_);
  shorten(stop, request.timeout_ms, http);
  const RerankScores scores = job.engine->rerank(request.query, request.texts, stop);
  HttpResponse response{200, rerank_answer(request, job.route->form, scores, job.engine->model().name)};
  std::size_t characters = 0;
  std::int64_t tokens = 0;
  for (const std::string& text : request.texts) characters += text.size();
  for (const CandidateScore& score : scores.scores) tokens += score.tokens;
  set_timing(scores.times, characters, tokens, http, queued, response);
  metrics_.texts += request.texts.size();
  if (!scores.fallback.empty()) {
    ++metrics_.degraded;
    response.headers.emplace_back("x-degraded", "true");
    response.note = without_paths(scores.fallback);
  }
  if (std::ranges::any_of(scores.scores, &CandidateScore::query_truncated))
    response.headers.emplace_back("x-query-truncated", "true");
  const auto cached = std::ranges::count_if(scores.scores, &CandidateScore::cached);
  response.headers.emplace_back("x-cache-hits", std::to_string(cached));
  response.measures = {
      {"texts", static_cast<std::int64_t>(request.texts.size())}, {"tokens", tokens}, {"cached", cached}};
  return response;
}

HttpResponse Service::search(const Job& job, StopSignal stop) {
  SearchBody request = parse_search(job.exchange->request().body, settings_);
  shorten(stop, request.timeout_ms, job.exchange->request());
  request.order.stop = std::move(stop);
  const SearchResult result = job.engine->search(request.order);
  ++metrics_.searches;
  HttpResponse response{200, search_answer(request, result)};
  if (result.degraded) {
    ++metrics_.degraded;
    response.note = without_paths(result.reason);
  }
  response.measures = {{"hits", static_cast<std::int64_t>(result.hits.size())},
                       {"rescored", result.rescored},
                       {"cached", result.cached}};
  return response;
}

/// For a front: see shard_engine.h.
HttpResponse Service::statistics(const Job& job, StopSignal stop) {
  const Json json = parse_object(job.exchange->request().body);
  const std::string query = query_of(Fields(json), settings_);
  return {200, statistics_json(job.engine->statistics(query, stop)).dump()};
}

/// Answers those in the queue whose deadline has passed or whose client has gone.
void Service::refuse_overdue() {
  const auto now = Clock::now();
  for (const Job& job :
       queue_.take_if([&](const Job& one) { return now >= one.deadline || one.exchange->gone().stop_requested(); })) {
    job.exchange->answer(answer_of(deadline_passed()));
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

HttpResponse Service::info() const {
  const auto engine = this->engine();
  const ModelInfo& model = engine->model();
  const auto or_null = [](const auto& value, bool known) { return known ? Answer(value) : Answer(nullptr); };
  const Answer labels{{"id2label", {{"0", "LABEL_0"}}}, {"label2id", {{"LABEL_0", 0}}}};
  return {200, to_text({{"model_id", model.name},
                        {"model_sha", nullptr},
                        {"model_dtype", or_null(model.precision, !model.precision.empty())},
                        {"model_type", {{"reranker", labels}}},
                        {"max_concurrent_requests", settings_.queue},
                        {"max_input_length", or_null(model.max_length, model.max_length > 0)},
                        {"max_batch_tokens", nullptr},
                        {"max_batch_requests", nullptr},
                        {"max_client_batch_size", settings_.texts},
                        {"auto_truncate", true},
                        {"tokenization_workers", concurrency_of(settings_)},
                        {"version", version()},
                        {"sha", nullptr},
                        {"docker_label", nullptr},
                        {"scorer", model.description},
                        {"can_rerank", engine->can_rerank()},
                        {"can_search", engine->can_search()},
                        {"max_text_bytes", settings_.text_bytes},
                        {"max_hits", settings_.hits}})};
}

/// Whose turn it is when this request is computed.
std::string Service::client_of(const HttpRequest& request) const {
  if (!settings_.client_header.empty()) {
    std::string name = settings_.client_header;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (const auto client = request.header(name); !client.empty()) return std::string(client.substr(0, 200));
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
                   queue_.size() + static_cast<std::size_t>(metrics_.computing.load())));
  http_->drain();
}

void Service::reload_when_asked(const std::stop_token& stop) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (!reload_asked_.wait(lock, stop, [this] { return asked_; })) return;
      asked_ = false;
    }
    reload();
  }
}

/// Requests that are computed or queued keep the engine with which they came.
void Service::reload() {
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
