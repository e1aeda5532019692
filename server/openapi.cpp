#include "server/openapi.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "relucent/version.h"

namespace relucent::server {
namespace {

constexpr std::string_view kId = "{id}";  // in a path

Answer schema_of(std::string_view name) { return {{"$ref", fmt::format("#/components/schemas/{}", name)}}; }

Answer content(std::string_view type, const Answer& schema) {
  Answer json;
  json[std::string(type)] = {{"schema", schema}};
  return json;
}

Answer refusals(const Route& route, bool token) {
  std::vector<std::pair<int, const char*>> statuses = {
      {400, "Not HTTP, or HTTP that two programs may read differently"},
      {403, "A Host or an Origin that may not use this server"},
      {413, "Above a limit"},
      {429, "Too many requests, or bytes of requests, are waiting"},
      {431, "The headers are above a limit"},
      {503, "The server ends, or all of its connections are busy"}};
  if (token && !route.open) statuses.emplace_back(401, "No valid token");
  if (!route.takes.empty()) {
    statuses.front().second = "Not HTTP or not JSON";
    statuses.emplace_back(415, "The content type is not application/json");
  }
  if (route.path.ends_with(kId)) statuses.emplace_back(404, "No document has this id");
  if (route.action == Action::compute) {
    statuses.emplace_back(422, route.takes.empty() ? "Not an id" : "JSON, but not the fields that the path takes");
    statuses.emplace_back(424, "The model, the index or a shard failed");
    statuses.emplace_back(504, "The deadline passed");
  }
  Answer json = Answer::object();
  for (const auto& [status, meaning] : statuses) {
    json[std::to_string(status)] = {{"description", meaning},
                                    {"content", content("application/json", schema_of("Error"))}};
  }
  return json;
}

/// For programs that make functions of it: "post_v1_rerank".
std::string operation_id(const Route& route) {
  std::string id = lower_ascii(route.method);
  for (const char c : route.path) id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return id;
}

Answer operation(const Route& route, bool token) {
  Answer json{{"operationId", operation_id(route)}, {"summary", route.summary}};
  if (token && route.open) json["security"] = Answer::array();
  if (route.path.ends_with(kId)) {
    json["parameters"] = Answer::array({{{"name", "id"},
                                         {"in", "path"},
                                         {"required", true},
                                         {"description", "A document's id, percent-encoded"},
                                         {"schema", {{"type", "string"}}}}});
    if (!route.writes) {
      json["parameters"].push_back({{"name", "index"},
                                    {"in", "query"},
                                    {"description", "The index that has it, where the server has several"},
                                    {"schema", {{"type", "string"}}}});
    }
  }
  if (!route.takes.empty()) {
    const Answer schema{{"type", "integer"}, {"minimum", 1}, {"maximum", std::numeric_limits<std::int64_t>::max()}};
    json["parameters"] = Answer::array();
    json["parameters"].push_back({{"name", "X-Request-Timeout-Ms"},
                                  {"in", "header"},
                                  {"description", "A deadline in milliseconds, which also counts in the queue"},
                                  {"schema", schema}});
    json["requestBody"] = {{"required", true}, {"content", content("application/json", schema_of(route.takes))}};
  }
  Answer gives{{"type", "string"}};
  if (!route.gives.empty()) gives = schema_of(route.gives);
  json["responses"]["200"] = {{"description", "The answer"}, {"content", content(route.type, gives)}};
  json["responses"].update(refusals(route, token));
  return json;
}

}  // namespace

Answer openapi_document(std::span<const Route> routes, const ServerConfig& settings, bool token, const Engine& engine) {
  Answer json{{"openapi", "3.1.0"},
              {"info",
               {{"title", "Relucent"},
                {"version", version()},
                {"description", "Reranks texts and searches an index"},
                {"license", {{"name", "Apache 2.0"}, {"identifier", "Apache-2.0"}}}}}};
  for (const Route& route : routes) {
    json["paths"][std::string(route.path)][lower_ascii(route.method)] = operation(route, token);
  }
  json["components"]["schemas"] = openapi_schemas(settings, engine.indexes(), engine.fields());
  if (std::ranges::none_of(routes, &Route::writes)) {
    for (const char* unused : {"NewDocument", "NewDocuments", "DocumentsPut", "DocumentDeleted"}) {
      json["components"]["schemas"].erase(unused);
    }
  }
  if (token) {
    json["components"]["securitySchemes"]["token"] = {{"type", "http"}, {"scheme", "bearer"}};
    json["security"] = Answer::array({{{"token", Answer::array()}}});
  }
  return json;
}

}  // namespace relucent::server
