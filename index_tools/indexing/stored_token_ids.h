#pragma once

#include <filesystem>
#include <string>

#include "index_tools/indexing/index_contents.h"
#include "relucent/config.h"

namespace relucent::index_tools {

/// An index's stored token ids, found by reading all of them.
struct StoredTokenIds {
  std::string tokenizer;    ///< its fingerprint in hexadecimal; empty where no token ids are stored
  bool made_again = false;  ///< from the texts, as the model at hand has the tokenizer
  IndexContents::Faults unreadable, different;
};

/// @param model  a checkpoint's folder; empty: the bundled one. One that cannot be read counts as another.
/// Throws Error `invalid_data` where the index cannot be read.
StoredTokenIds read_token_ids(const std::filesystem::path& index, const IndexConfig& fields,
                              const std::filesystem::path& model, bool quiet);

}  // namespace relucent::index_tools
