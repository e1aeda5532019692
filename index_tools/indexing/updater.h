#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "index_tools/indexing/indexer.h"
#include "relucent/index_builder.h"

namespace relucent::index_tools {

struct UpdateSummary {
  IndexSummary index;
  std::int64_t read = 0;      ///< documents of the input
  std::int64_t replaced = 0;  ///< documents of the index that they replaced
  std::int64_t added = 0;     ///< documents whose ids the index did not have
};

/// Replaces the documents of a finished index by those of a corpus with the same ids, and adds the others, with regular
/// commits. `start`, `force` and `any_input` of the job do not matter. However it ends, every document is the old or
/// the new one, and the same run may be repeated. Throws Error as run_index() does; `usage` if there is no index.
UpdateSummary update_index(const IndexJob& job);

struct DeleteSummary {
  std::int64_t documents = 0;  ///< deleted
  std::int64_t left = 0;
  std::int64_t unknown_ids = 0;
  std::vector<std::string> unknown;  ///< the first ones
  std::string recovered;             ///< damage of the newest commit if the previous one was changed
};

/// Deletes the documents with these ids in one commit. Throws Error: see IndexChange.
DeleteSummary delete_documents(const std::filesystem::path& index, const std::vector<std::string>& ids);

}  // namespace relucent::index_tools
