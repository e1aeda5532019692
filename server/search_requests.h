#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "server/engine.h"
#include "server/json.h"

namespace relucent::server {

struct SearchBody {
  SearchOrder order;
  std::string index;            ///< its name; empty: the default
  bool whole_passages = false;  ///< `texts`: "passage" or "full"
  std::int64_t timeout_ms = 0;  ///< 0: none asked for
};

/// Throws Refusal: 400 or 422 for what is not such a request, 413 for one above a limit of [server].
SearchBody parse_search(std::string_view body, const ServerConfig& limits);

/// What the first stage is to search instead of [first_stage] fields. Throws Refusal.
std::vector<std::string> search_fields_of(const Fields& fields);

/// The answer's body.
std::string search_answer(const SearchBody& request, const SearchResult& result);

}  // namespace relucent::server
