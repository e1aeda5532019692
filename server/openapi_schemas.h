#pragma once

#include "relucent/config.h"
#include "server/answer.h"

namespace relucent::server {

/// The schemas of requests and answers by their names in the table of routes, with the limits of [server].
/// @param indexes  their names; empty: the only one has none
/// @param fields   the index's, of which the declared ones can be filtered by; null: not known
Answer openapi_schemas(const ServerConfig& settings, std::span<const std::string> indexes, const IndexConfig* fields);

}  // namespace relucent::server
