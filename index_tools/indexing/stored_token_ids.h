#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "index_tools/indexing/index_contents.h"
#include "relucent/config.h"

namespace relucent::index_tools {

/// The state of an index's stored token ids, determined by reading all of them.
struct StoredTokenIds {
  std::string tokenizer;    ///< its fingerprint in hexadecimal; empty if no token ids are stored
  bool recomputed = false;  ///< recomputed from the texts: the model has the same tokenizer
  IndexContents::Faults unreadable, different;
  std::int64_t documents = 0, pieces = 0;  ///< that could be read: documents, and their word pieces in all
  std::int64_t cut = 0;                    ///< documents of which only the first pieces are stored
};

/// @param model  a checkpoint's folder; empty: the bundled one. An unreadable one counts as a different tokenizer.
/// Throws Error `invalid_data` if the index is unreadable.
StoredTokenIds read_token_ids(const std::filesystem::path& index, const IndexConfig& fields,
                              const std::filesystem::path& model, bool quiet);

}  // namespace relucent::index_tools
