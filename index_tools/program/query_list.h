#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "index_tools/indexing/progress.h"

namespace relucent::program {

/// "7 queries are missing: 301, 302, 303, 304, 305, ...", with what = "queries are missing".
inline std::string query_list(const std::vector<std::string>& ids, const std::string& what) {
  std::string text = index_tools::with_commas(ids.size()) + " " + what + ": ";
  for (std::size_t i = 0; i < ids.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + ids[i];
  return text + (ids.size() > 5 ? ", ..." : "");
}

}  // namespace relucent::program
