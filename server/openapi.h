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

}  // namespace relucent::server
