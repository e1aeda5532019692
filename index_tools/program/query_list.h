#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/indexing/progress.h"

namespace relucent::program {

/// "7 queries are missing: 301, 302, 303, 304, 305, ...", with what = "queries are missing".
inline std::string query_list(const std::vector<std::string>& ids, const std::string& what) {
  return fmt::format("{} {}: {}{}", index_tools::with_commas(ids.size()), what,
                     join(std::span(ids).first(std::min<std::size_t>(ids.size(), 5))), ids.size() > 5 ? ", ..." : "");
}

}  // namespace relucent::program
