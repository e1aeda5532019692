#pragma once

#include "relucent/collection_statistics.h"
#include "server/answer.h"
#include "server/json.h"

namespace relucent::server {

/// {"fields": {NAME: {"documents": N, "tokens": N, "frequencies": {TERM: N}}}}
Answer statistics_json(const CollectionStatistics& statistics);
/// Reads it back. Throws Refusal 422 for anything else, and for numbers that no collection has.
CollectionStatistics parse_statistics(const Json& json);

}  // namespace relucent::server
