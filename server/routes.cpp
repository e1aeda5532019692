#include "server/routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string>
#include <vector>

#include "relucent/version.h"
#include "server/answer.h"
#include "server/document_requests.h"
#include "server/json.h"
#include "server/openapi.h"
#include "server/page.h"
#include "server/refusal.h"
#include "server/result_json.h"
#include "server/search_requests.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

constexpr const char* kTimeoutHeader = "x-request-timeout-ms";
constexpr std::string_view kDocumentPath = "/doc/{id}";

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

/// Those that took any time.
std::vector<std::pair<std::string_view, std::chrono::nanoseconds>> steps_of(const StageTimes& times) {
  const std::initializer_list<std::pair<std::string_view, std::chrono::nanoseconds>> all = {
      {"parse query", times.parse},     {"first stage", times.first_stage}, {"fetch texts", times.fetch},
      {"tokenize", times.tokenize},     {"encode", times.encode},           {"combine", times.combine},
      {"find passages", times.passages}};
  std::vector<std::pair<std::string_view, std::chrono::nanoseconds>> steps;
  std::ranges::copy_if(all, std::back_inserter(steps), [](const auto& step) { return step.second.count() > 0; });
  return steps;
}

HttpResponse rerank(const Computation& of, RerankForm form) {
  const HttpRequest& http = of.request;
  const double queued = in_milliseconds(time_since(http.arrived));
  const RerankRequest request = parse_rerank(http.body, form, of.settings);
  const StopSignal stop = shortened(of, request.timeout_ms);
  const RerankScores scores = of.engine.rerank(request.query, request.texts, stop);
  HttpResponse response{200, rerank_answer(request, scores, of.engine.model().name)};
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
  response.steps = steps_of(scores.times);
  return response;
}

HttpResponse search(const Computation& of, RerankForm) {
  SearchBody request = parse_search(of.request.body, of.settings);
  request.order.stop = shortened(of, request.timeout_ms);
  request.order.trace = of.trace;
  const SearchResult result = of.engine.index(request.index).search(request.order);
  ++of.metrics.searches;
  if (const std::vector<std::string> names = of.engine.indexes(); !names.empty()) {
    of.metrics.count_search(request.index.empty() ? names.front() : request.index);
  }
  HttpResponse response{200, search_answer(request, result)};
  if (result.degraded) {
    ++of.metrics.degraded;
    response.note = without_paths(result.reason);
  }
  response.measures = {{"hits", static_cast<std::int64_t>(result.hits.size())},
                       {"rescored", result.rescored},
                       {"cached", result.cached}};
  response.steps = steps_of(result.times);
  return response;
}

HttpResponse document(const Computation& of, RerankForm) {
  const std::string id = id_in_path(of.request.path, kDocumentPath.substr(0, kDocumentPath.find('{')));
  const auto found = of.engine.index(index_in_query(of.request.query)).document(id, of.stop, of.trace);
  if (!found) throw Refusal(404, "Validation", "the index has no document with this id");
  return {200, to_text(document_json(*found))};
}

/// For a front: see open_shards().
HttpResponse statistics(const Computation& of, RerankForm) {
  const JsonTree json = parse_object(of.request.body);
  const Fields fields(*json);
  SearchOrder order;
  order.query = query_of(fields, of.settings);
  order.search_fields = search_fields_of(fields);
  order.stop = of.stop;
  order.trace = of.trace;
  return {200, to_text(statistics_json(of.engine.index(index_of(fields)).statistics(order)))};
}

HttpResponse put_documents(const Computation& of, RerankForm) {
  const std::vector<NewDocument> documents = parse_documents(of.request.body, of.settings);
  const DocumentWriter::Change change = [&] {
    try {
      return of.writer->put(documents);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data) throw;
      throw not_valid(fmt::format("{} {}", error.place(), error.problem()));  // metadata that the index cannot take
    }
  }();
  const std::string problem = of.reopen();
  HttpResponse response{200, put_answer(change, problem)};
  response.note = without_paths(problem);
  response.measures = {{"documents", static_cast<std::int64_t>(documents.size())}};
  return response;
}

constexpr std::string_view kDocuments = "/documents/";

HttpResponse remove_document(const Computation& of, RerankForm) {
  const std::string id = id_in_path(of.request.path, kDocuments);
  const DocumentWriter::Change change = of.writer->remove(id);
  if (change.removed == 0) throw Refusal(404, "Validation", fmt::format("no document has the id \"{}\"", id));
  const std::string problem = of.reopen();
  HttpResponse response{200, remove_answer(change, problem)};
  response.note = without_paths(problem);
  return response;
}

constexpr Route writing_route(std::string_view method, std::string_view path, std::string_view summary,
                              std::string_view takes, std::string_view gives,
                              HttpResponse (*compute)(const Computation&, RerankForm)) {
  return {method, path,    Action::compute, summary,        takes, gives, "application/json",
          false,  compute, false,           RerankForm::v1, true};
}

constexpr Route rerank_route(std::string_view path, std::string_view summary) {
  return {"POST", path, Action::compute, summary, "RerankRequest", "RerankAnswer", "application/json", false,
          rerank, true};
}

constexpr std::array kRoutes = {
    rerank_route("/rerank", "Score texts, in the form of text-embeddings-inference or of llama.cpp and vLLM"),
    rerank_route("/", "The same as /rerank"),
    rerank_route("/reranking", "The same as /rerank"),
    rerank_route("/v1/rerank", "The same as /rerank, where clients of Cohere and Jina look for it"),
    rerank_route("/v1/reranking", "The same as /rerank"),
    Route{"POST", "/v2/rerank", Action::compute, "Score texts in the form of Cohere's second version",
          "DocumentsRequest", "DocumentsAnswer", "application/json", false, rerank, true, RerankForm::v2},
    Route{"POST", "/infinity/rerank", Action::compute, "Score texts in the form of Infinity, with texts as strings",
          "DocumentsRequest", "InfinityAnswer", "application/json", false, rerank, true, RerankForm::infinity},
    Route{"POST", "/search", Action::compute, "Search the index", "SearchRequest", "SearchAnswer", "application/json",
          false, search},
    Route{"GET", kDocumentPath, Action::compute, "A document of the index: its text and its metadata", "", "Document",
          "application/json", false, document},
    Route{"POST", "/statistics", Action::compute, "What a front needs of a shard to score a query by BM25",
          "StatisticsRequest", "Statistics", "application/json", false, statistics},
    writing_route("POST", "/documents", "Replace documents by id, and add the others", "NewDocuments", "DocumentsPut",
                  put_documents),
    writing_route("DELETE", "/documents/{id}", "Delete a document", "", "DocumentDeleted", remove_document),
    Route{"GET", "/health", Action::health, "Whether the process runs", "", "Status", "application/json", true},
    Route{"GET", "/ready", Action::ready, "Whether the server takes requests; 503 while it shuts down", "", "Status",
          "application/json", true},
    Route{"GET", "/info", Action::info, "The model and the limits", "", "Info"},
    Route{"GET", "/metrics", Action::metrics, "Counters in Prometheus' text format", "", "",
          "text/plain; version=0.0.4; charset=utf-8"},
    Route{"GET", "/openapi.json", Action::openapi, "This description", "", "OpenApi"},
};

/// Whether a request's path is one of the route's.
bool answers_at(const Route& route, std::string_view path) {
  constexpr std::string_view any = "{id}";
  if (!route.path.ends_with(any)) return route.path == path;
  const std::string_view prefix = route.path.substr(0, route.path.size() - any.size());
  return path.size() > prefix.size() && path.starts_with(prefix);
}

std::vector<Route> all_routes() {
  std::vector<Route> all(kRoutes.begin(), kRoutes.end());
  for (const PageFile& file : page_files()) {
    all.push_back(
        {"GET", file.path, Action::page, "A page to search with, or a file that it loads", "", "", file.type, true});
  }
  return all;
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> all = all_routes();
  return all;
}

const Route* find_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  for (const Route& route : routes()) {
    if (route.method == method && answers_at(route, path)) return &route;
  }
  return nullptr;
}

HttpResponse no_route_answer(const HttpRequest& request) {
  std::string methods;
  if (find_route("GET", request.path) != nullptr) methods = "GET, HEAD";
  if (find_route("POST", request.path) != nullptr) methods += methods.empty() ? "POST" : ", POST";
  if (find_route("DELETE", request.path) != nullptr) methods += methods.empty() ? "DELETE" : ", DELETE";
  if (methods.empty()) return answer_of({404, "Validation", "there is nothing at this path"});
  HttpResponse response = answer_of({405, "Validation", fmt::format("the method must be {}", methods)});
  response.headers.emplace_back("Allow", methods);
  return response;
}

bool is_offered(const Route& route, const Engine& engine, bool writable) {
  if (route.writes && !writable) return false;
  if (route.action != Action::compute) return true;
  return route.reranks ? engine.can_rerank() : engine.can_search();
}

void require_computable(const Route& route, const HttpRequest& head, const Engine& engine, bool writable) {
  if (route.writes && !writable) {
    throw Refusal(403, "Validation", "this server does not change its index; `relucent serve --writable` does");
  }
  if (!route.takes.empty() && !is_json(head.header("content-type"))) {
    throw Refusal(415, "Validation", "the header Content-Type must be application/json");
  }
  if (!is_offered(route, engine, writable)) {
    throw Refusal(404, "Validation", route.reranks ? "this server has no model" : "this server has no index");
  }
  timeout_in(head);
}

std::optional<std::int64_t> timeout_in(const HttpRequest& request) {
  if (!request.headers.contains(kTimeoutHeader)) return std::nullopt;
  const std::string_view text = request.header(kTimeoutHeader);
  std::int64_t milliseconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (problem != std::errc() || end != text.data() + text.size() || milliseconds < 1) {
    throw not_valid(fmt::format("the header {} must be a whole number of milliseconds", kTimeoutHeader));
  }
  return milliseconds;
}

std::string_view route_path(std::string_view path) {
  const auto all = routes();
  const auto found = std::ranges::find_if(all, [&](const Route& route) { return answers_at(route, path); });
  return found == all.end() ? std::string_view("other") : found->path;
}

HttpResponse page_answer(std::string_view path) {
  const auto files = page_files();
  const auto file = std::ranges::find(files, path, &PageFile::path);
  HttpResponse response{200, std::string(file->content), std::string(file->type)};
  response.headers = {{"Content-Security-Policy", std::string(kPagePolicy)},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

HttpResponse info_answer(const Engine& engine, const ServerConfig& settings, int workers) {
  const ModelInfo& model = engine.model();
  const auto or_null = [](const auto& value, bool known) { return known ? Answer(value) : Answer(nullptr); };
  const Answer labels{{"id2label", {{"0", "LABEL_0"}}}, {"label2id", {{"LABEL_0", 0}}}};
  Answer info{{"model_id", model.name},
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
              {"max_hits", settings.hits}};
  if (const std::vector<std::string> names = engine.indexes(); !names.empty()) info["indexes"] = names;
  return {200, to_text(info)};
}

HttpResponse openapi_answer(const Engine& engine, const ServerConfig& settings, bool token, bool writable) {
  std::vector<Route> offered;
  std::ranges::copy_if(routes(), std::back_inserter(offered),
                       [&](const Route& route) { return is_offered(route, engine, writable); });
  return {200, to_text(openapi_document(offered, settings, token, engine))};
}

}  // namespace relucent::server
