#pragma once

#include "relucent/config.h"
#include "server/json.h"

namespace relucent::server {

/// The schemas of requests and answers by their names in the table of routes, with the limits of [server].
Answer openapi_schemas(const ServerConfig& settings, std::span<const std::string> indexes);

}  // namespace relucent::server
