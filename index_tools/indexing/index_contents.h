#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "relucent/config.h"

namespace relucent::index_tools {

/// The actual contents of an index, determined by reading all of it.
struct IndexContents {
  /// Occurrences of one kind of fault: their number and the first few.
  struct Faults {
    std::int64_t count = 0;
    std::vector<std::string> examples;
    void add(const std::string& example);
  };

  std::int64_t documents = 0;  ///< not deleted
  std::int64_t deleted = 0;
  std::int64_t documents_with_tokens = 0;           ///< counted from the postings, excluding deleted ones
  std::int64_t tokens = 0;                          ///< the same
  std::int64_t recorded_documents_with_tokens = 0;  ///< as BM25 uses them
  std::int64_t recorded_tokens = 0;
  /// Why BM25 cannot search the index as configured, for example because the field does not exist; nothing is recorded
  /// then. Empty if it can.
  std::string unsearchable;
  Faults without_id, without_text, repeated_ids;
};

/// The user data of the last commit. Throws Error `io` or `invalid_data` if there is no index or it is unreadable.
std::map<std::string, std::string> committed_user_data(const std::filesystem::path& index);

/// Reads every stored document and every posting. Throws Error `invalid_data` if the index is unreadable.
IndexContents read_contents(const std::filesystem::path& index, const IndexConfig& fields,
                            const FirstStageConfig& first_stage, bool quiet);

}  // namespace relucent::index_tools
