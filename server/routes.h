// What each path means: the checks of its requests, and the answers that the engine computes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relucent/config.h"
#include "server/document_writer.h"
#include "server/engine.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/rerank_requests.h"

namespace relucent::server {

/// A request of the queue and what computes its answer.
struct Computation {
  const HttpRequest& request;
  const ServerConfig& settings;
  Engine& engine;
  Metrics& metrics;
  StopSignal stop;                   ///< with a deadline
  const TraceContext* trace;         ///< null: the request belongs to none
  DocumentWriter* writer = nullptr;  ///< for routes that write
  /// Has searches see the last commit. Returns why they do not; empty: they do.
  std::function<std::string()> reopen = {};
};

/// What answers at a route.
enum class Action { compute, page, health, ready, info, metrics, openapi };

/// What a method means at a path. The server answers at these alone, and /openapi.json describes them.
struct Route {
  std::string_view method;  ///< POST for what is computed; otherwise GET, which HEAD also means
  std::string_view path;    ///< "/doc/{id}" stands for every path that begins with "/doc/"
  Action action = Action::compute;
  std::string_view summary;
  std::string_view takes = {};  ///< the schema of the body, by its name in openapi_schemas(); empty: no body
  std::string_view gives = {};  ///< the schema of the answer, likewise; empty: text of the type `type`
  std::string_view type = "application/json";
  bool open = false;  ///< needs no token

  /// Computes the answer in the queue. Throws Refusal, and whatever the engine throws.
  HttpResponse (*compute)(const Computation&, RerankForm form) = nullptr;
  bool reranks = false;  ///< otherwise it searches
  RerankForm form = RerankForm::v1;
  bool writes = false;  ///< changes the index
};

std::span<const Route> routes();

/// Null if there is none.
const Route* find_route(std::string_view method, std::string_view path);

/// The answer to a request without a route: that the path is unknown or takes other methods.
HttpResponse no_route_answer(const HttpRequest& request);

/// Whether the server has what the route needs. `writable`: whether it may change its index.
bool is_offered(const Route& route, const Engine& engine, bool writable);

/// Throws Refusal unless the body, where the route takes one, is JSON, the timeout is valid, and the server has what
/// the route needs.
void require_computable(const Route& route, const HttpRequest& head, const Engine& engine, bool writable);

/// The request's own limit, in milliseconds. Throws Refusal if it is not valid.
std::optional<std::int64_t> timeout_in(const HttpRequest& request);

/// The path of the route that answers at a request's path, for counters; "other" if none does.
std::string_view route_path(std::string_view path);

/// A file of the page. @param path  of one
HttpResponse page_answer(std::string_view path);

/// The answer of /info. `workers`: the threads that compute.
HttpResponse info_answer(const Engine& engine, const ServerConfig& settings, int workers);

/// The answer of /openapi.json. `token`: whether requests need one.
HttpResponse openapi_answer(const Engine& engine, const ServerConfig& settings, bool token, bool writable);

}  // namespace relucent::server
