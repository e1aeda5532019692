#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "relucent/model/tokenizer.h"

namespace relucent {

struct LoadedTokenizer {
  std::unique_ptr<const Tokenizer> tokenizer;
  std::optional<std::int32_t> model_max_length;  ///< of tokenizer_config.json, if it is a real limit
};

/// Reads a checkpoint folder's tokenizer from vocab.txt, or else tokenizer.json, with the settings of
/// tokenizer_config.json. `vocabulary_size` is config.json's. Throws Error: `io` or `invalid_data` naming the file and
/// the line or key; `unsupported` for a tokenizer that is not uncased WordPiece.
LoadedTokenizer load_tokenizer(const std::filesystem::path& folder, std::int32_t vocabulary_size);

}  // namespace relucent
