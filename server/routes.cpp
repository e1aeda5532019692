#include "server/routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "relucent/version.h"
#include "server/json.h"
#include "server/json_object.h"
#include "server/page.h"
#include "server/refusal.h"
#include "server/search_requests.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

constexpr const char* kTimeoutHeader = "x-request-timeout-ms";
constexpr std::array<std::string_view, 4> kFixedPaths = {"/health", "/ready", "/info", "/metrics"};

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

/// The stop signal with the body's own limit.
StopSignal shortened(const Computation& of, std::int64_t timeout_ms) {
  StopSignal stop = of.stop;
  if (timeout_ms == 0) return stop;
  stop.deadline = std::min(*stop.deadline, of.request.arrived + std::chrono::milliseconds(timeout_ms));
  if (stop.past_deadline()) throw deadline_passed();
  return stop;
}

HttpResponse rerank(const Computation& of, RerankForm form) {
  const HttpRequest& http = of.request;
  const double queued = in_milliseconds(time_since(http.arrived));
  const RerankRequest request = parse_rerank(http.body, form, of.settings);
  const StopSignal stop = shortened(of, request.timeout_ms);
  const RerankScores scores = of.engine.rerank(request.query, request.texts, stop);
  HttpResponse response{200, rerank_answer(request, form, scores, of.engine.model().name)};
  std::size_t characters = 0;
  std::int64_t tokens = 0;
  for (const std::string& text : request.texts) characters += text.size();
  for (const CandidateScore& score : scores.scores) tokens += score.tokens;
  set_timing(scores.times, characters, tokens, http, queued, response);
  of.metrics.texts += request.texts.size();
  if (!scores.fallback.empty()) {
    ++of.metrics.degraded;
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

HttpResponse search(const Computation& of, RerankForm) {
  SearchBody request = parse_search(of.request.body, of.settings);
  request.order.stop = shortened(of, request.timeout_ms);
  const SearchResult result = of.engine.search(request.order);
  ++of.metrics.searches;
  HttpResponse response{200, search_answer(request, result)};
  if (result.degraded) {
    ++of.metrics.degraded;
    response.note = without_paths(result.reason);
  }
  response.measures = {{"hits", static_cast<std::int64_t>(result.hits.size())},
                       {"rescored", result.rescored},
                       {"cached", result.cached}};
  return response;
}

/// For a front: see shard_engine.h.
HttpResponse statistics(const Computation& of, RerankForm) {
  const Json json = parse_object(of.request.body);
  const std::string query = query_of(Fields(json), of.settings);
  return {200, statistics_json(of.engine.statistics(query, of.stop)).dump()};
}

constexpr std::array<Route, 6> kRoutes = {{{"/rerank", rerank, true, RerankForm::tei},
                                           {"/", rerank, true, RerankForm::tei},
                                           {"/v1/rerank", rerank, true, RerankForm::v1},
                                           {"/v2/rerank", rerank, true, RerankForm::v2},
                                           {"/search", search},
                                           {"/statistics", statistics}}};

const Route* find_route(std::string_view path) {
  const auto* const route = std::ranges::find(kRoutes, path, &Route::path);
  return route == kRoutes.end() ? nullptr : route;
}

}  // namespace

const Route* route_of(const HttpRequest& request) {
  return request.method == "POST" ? find_route(request.path) : nullptr;
}

void require_computable(const Route& route, const HttpRequest& head, const Engine& engine) {
  if (!is_json(head.header("content-type"))) {
    throw Refusal(415, "Validation", "the header Content-Type must be application/json");
  }
  if (route.reranks ? !engine.can_rerank() : !engine.can_search()) {
    throw Refusal(404, "Validation", route.reranks ? "this server has no model" : "this server has no index");
  }
  timeout_in(head);
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

bool is_known(std::string_view path) {
  const auto is_path = [&](const PageFile& file) { return file.path == path; };
  return find_route(path) != nullptr || std::ranges::count(kFixedPaths, path) > 0 ||
         std::ranges::any_of(page_files(), is_path);
}

std::optional<HttpResponse> fixed_answer(const HttpRequest& request) {
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
  if (find_route(request.path) != nullptr) return not_allowed("POST");
  if (!is_known(request.path)) {
    return answer_of({404, "Validation", "there is nothing at this path"});
  }
  if (!get) return not_allowed("GET, HEAD");
  if (request.path == "/health") return HttpResponse{200, JsonObject().text("status", "ok").str()};
  return std::nullopt;
}

HttpResponse info_answer(const Engine& engine, const ServerConfig& settings, int workers) {
  const ModelInfo& model = engine.model();
  const auto or_null = [](const auto& value, bool known) { return known ? Answer(value) : Answer(nullptr); };
  const Answer labels{{"id2label", {{"0", "LABEL_0"}}}, {"label2id", {{"LABEL_0", 0}}}};
  return {200, to_text({{"model_id", model.name},
                        {"model_sha", nullptr},
                        {"model_dtype", or_null(model.precision, !model.precision.empty())},
                        {"model_type", {{"reranker", labels}}},
                        {"max_concurrent_requests", settings.queue},
                        {"max_input_length", or_null(model.max_length, model.max_length > 0)},
                        {"max_batch_tokens", nullptr},
                        {"max_batch_requests", nullptr},
                        {"max_client_batch_size", settings.texts},
                        {"auto_truncate", true},
                        {"tokenization_workers", workers},
                        {"version", version()},
                        {"sha", nullptr},
                        {"docker_label", nullptr},
                        {"scorer", model.description},
                        {"can_rerank", engine.can_rerank()},
                        {"can_search", engine.can_search()},
                        {"max_text_bytes", settings.text_bytes},
                        {"max_hits", settings.hits}})};
}

}  // namespace relucent::server
