#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "relucent/config.h"

namespace relucent::index_tools {

/// What is really in an index, found by reading all of it.
struct IndexContents {
  /// Places of one kind of fault: how many, and the first few.
  struct Faults {
    std::int64_t count = 0;
    std::vector<std::string> examples;
    void add(const std::string& example);
  };

  std::int64_t documents = 0;  ///< not deleted
  std::int64_t deleted = 0;
  std::int64_t documents_with_tokens = 0;           ///< counted from the postings, deleted ones left out
  std::int64_t tokens = 0;                          ///< the same
  std::int64_t recorded_documents_with_tokens = 0;  ///< as BM25 uses them
  std::int64_t recorded_tokens = 0;
  /// Why BM25 cannot search it as configured, so that nothing is recorded: it has no such field, for example. Empty
  /// where it can.
  std::string unsearchable;
  Faults without_id, without_text, repeated_ids;
};

/// The user data of the last commit. Throws Error `io` or `invalid_data` where there is no index or it cannot be read.
std::map<std::string, std::string> committed_user_data(const std::filesystem::path& index);

/// Reads every stored document and every posting. Throws Error `invalid_data` where the index cannot be read.
IndexContents read_contents(const std::filesystem::path& index, const IndexConfig& fields,
                            const FirstStageConfig& first_stage, bool quiet);

}  // namespace relucent::index_tools
