// What each path means: the checks of its requests, and the answers that the engine computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "relucent/config.h"
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
  StopSignal stop;  ///< with a deadline
};

/// A path that takes POST and is computed in the queue.
struct Route {
  std::string_view path;
  /// Throws Refusal, and whatever the engine throws.
  HttpResponse (*compute)(const Computation&, RerankForm form);
  bool reranks = false;  ///< otherwise it searches
  RerankForm form = RerankForm::tei;
};

/// Null if the request is not for one of them.
const Route* route_of(const HttpRequest& request);

/// Throws Refusal unless the body is JSON, the timeout is valid, and the engine has what the route needs.
void require_computable(const Route& route, const HttpRequest& head, const Engine& engine);

/// The request's own limit, in milliseconds. Throws Refusal if it is not valid.
std::optional<std::int64_t> timeout_in(const HttpRequest& request);

/// Whether something answers at the path.
bool is_known(std::string_view path);

/// The answer to a request without a route that is always the same: a file of the page, that the path is unknown or
/// takes other methods, or /health. Null for a GET of /ready, /info and /metrics.
std::optional<HttpResponse> fixed_answer(const HttpRequest& request);

/// The answer of /info. `workers`: the threads that compute.
HttpResponse info_answer(const Engine& engine, const ServerConfig& settings, int workers);

}  // namespace relucent::server
