// HTTP requests, without sockets: the parser, whose result may not depend on how the bytes arrive, then what the server
// checks and computes, with an engine that scores and finds something simple.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "server/document_requests.h"
#include "server/json.h"
#include "server/openapi.h"
#include "server/origin.h"
#include "server/request_parser.h"
#include "server/routes.h"
#include "server/trace.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/server/empty_engine.h"

namespace relucent::fuzz {
namespace {

using namespace server;

class SimpleEngine final : public testing::EmptyEngine {
 public:
  RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal&) override {
    RerankScores result;
    for (const std::string& text : texts) {
      result.scores.push_back({static_cast<float>(text.size()) - static_cast<float>(query.size())});
    }
    return result;
  }
  SearchResult search(const SearchOrder& order) override {
    SearchResult result;
    result.query = order.query;
    for (std::int32_t i = 0; i < std::min(order.hits, 3); ++i) {
      SearchHit& hit = result.hits.emplace_back();
      hit.id = "d" + std::to_string(i);
      hit.text = "a text \xFF that is not UTF-8";
      hit.score = 1.5;
      hit.stage_logits = {1, 2};
      hit.fields = R"({"x": [1]})";
      if (i == 1) hit.passage = SearchPassage{"contents", std::string(500, 'a') + " b", 0, 502, true};
      if (i == 1) hit.explanation = SearchExplanation{1.5, "sum of", {{1, "a", {}}}};
      if (i == 2) hit.text += std::string(300, 'c') + " d " + std::string(60, 'e');
    }
    result.stages.resize(2);
    for (const std::string& key : order.facets) result.facets.push_back({key, {{"a", 2}}, 1});
    return result;
  }
  CollectionStatistics statistics(const SearchOrder&) override {
    CollectionStatistics statistics;
    statistics.fields["contents"] = {{5, 50}, {{"word", 2}}};
    return statistics;
  }
  std::optional<StoredDocument> document(std::string_view id, const StopSignal&, const TraceContext*) override {
    const Route* const route = find_route("GET", document_path(id));
    if (!id.empty() && (route == nullptr || route->action != Action::compute)) report("an id without a path");
    if (id.size() % 2 == 0) return std::nullopt;
    return StoredDocument{std::string(id), "text", "{\"a\": 1}"};
  }
};

class Counter final : public DocumentWriter {
 public:
  Change put(std::span<const NewDocument> documents) override {
    for (const NewDocument& document : documents) {
      if (document.id.empty()) report("a document without an id");
    }
    return {0, 0, static_cast<std::int64_t>(documents.size())};
  }
  Change remove(const std::string& id) override { return {id.size() % 2 == 0 ? 1 : 0, 0, 3}; }
};

ServerConfig limits() {
  ServerConfig limits;
  limits.header_bytes = 2000;
  limits.body_bytes = 20'000;
  return limits;
}

/// The requests in `bytes`, which arrive in pieces of `piece` bytes, and how they end.
std::vector<HttpRequest> read_requests(std::string_view bytes, std::size_t piece, std::string& end) {
  static const ServerConfig settings = limits();
  std::vector<HttpRequest> requests;
  while (!bytes.empty() && requests.size() < 20) {
    HttpRequest request;
    RequestParser parser(settings, request, [](std::size_t size) { return size <= 40'000; });
    try {
      while (!parser.complete() && !bytes.empty()) {
        const bool had_head = parser.has_head();
        const std::size_t taken = parser.take(bytes.substr(0, piece));
        if (taken > std::min(piece, bytes.size())) report("more bytes than there are");
        if (taken == 0 && parser.has_head() == had_head && !parser.complete()) report("no progress");
        bytes.remove_prefix(taken);
        if (!had_head && parser.has_head()) parser.expect_body();
      }
    } catch (const Refusal& refusal) {
      end = std::to_string(refusal.status());
      return requests;
    }
    if (!parser.complete()) {
      end = "...";
      return requests;
    }
    if (request.body.size() > 20'000) report("a body above the limit");
    requests.push_back(std::move(request));
  }
  return requests;
}

HttpResponse answer(const HttpRequest& request) {
  static const ServerConfig settings = limits();
  static SimpleEngine engine;
  static Metrics metrics;
  Counter writer;
  try {
    require_known_host(request, true);
    const Route* route = find_route(request.method, request.path);
    if (route == nullptr) return no_route_answer(request);
    require_own_page(request);
    require_computable(*route, request, engine, true);
    if (route->action == Action::page) return page_answer(route->path);
    if (route->action == Action::info) return info_answer(engine, settings, 2);
    if (route->action == Action::openapi) return openapi_answer(engine, settings, true, true);
    if (route->action != Action::compute) return {};
    StopSignal stop;
    stop.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
    const auto trace = parse_trace(request.header("traceparent"), request.header("tracestate"));
    if (trace && !parse_trace(traceparent_of(*trace), trace->state)) report("a trace that cannot be told to others");
    return route->compute(
        {request, settings, engine, metrics, stop, trace ? &*trace : nullptr, &writer, [] { return std::string(); }},
        route->form);
  } catch (const Refusal& refusal) {
    return answer_of(refusal);
  } catch (const Error& error) {
    return answer_of(refusal_of(error));
  }
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_TARGET(http_request) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input[0]) % 40;
  input.remove_prefix(1);
  answer_or_error([&] {
    std::string end, end_of_pieces;
    auto whole = read_requests(input, input.npos, end);
    const auto pieces = read_requests(input, piece, end_of_pieces);
    if (whole.size() != pieces.size() || end != end_of_pieces) report("requests that depend on how the bytes arrive");
    for (std::size_t i = 0; i < whole.size(); ++i) {
      HttpRequest& request = whole[i];
      if (request.method != pieces[i].method || request.path != pieces[i].path || request.body != pieces[i].body ||
          request.headers != pieces[i].headers || request.query != pieces[i].query) {
        report("a request that depends on how the bytes arrive");
      }
      request.arrived = std::chrono::steady_clock::now();
      const HttpResponse response = answer(request);
      if (response.status < 200 || response.status > 599) report("an answer without a status");
      if (response.type == "application/json" && !response.body.empty() && !Json::accept(response.body)) {
        report("an answer that is not JSON: " + response.body);
      }
    }
  });
}
