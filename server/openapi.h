#pragma once

#include <span>
#include <string>

#include "server/answer.h"
#include "server/routes.h"

namespace relucent::server {

/// The description of these routes in OpenAPI 3.1.
/// @param token   whether the server requires a bearer token
/// @param engine  whose indexes and declared fields requests may name
Answer openapi_document(std::span<const Route> routes, const ServerConfig& settings, bool token, const Engine& engine);

/// The schemas of requests and answers by their names in the table of routes, with the limits of [server].
/// @param indexes  their names; empty: the only one has none
/// @param fields   the index's, of which the declared ones can be filtered by; null: not known
Answer openapi_schemas(const ServerConfig& settings, std::span<const std::string> indexes, const IndexConfig* fields);

}  // namespace relucent::server
