#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "relucent/model/tokenizer.h"

namespace relucent {

struct LoadedTokenizer {
  std::unique_ptr<const Tokenizer> tokenizer;
  std::optional<std::int32_t> model_max_length;  ///< what tokenizer_config.json states, if it is a real limit
};

/// Reads a checkpoint folder's tokenizer: vocab.txt or else tokenizer.json, as tokenizer_config.json says.
/// `vocabulary_size` is config.json's. Throws Error: `io` or `invalid_data` naming file and line or key;
/// `unsupported` for a tokenizer that is not uncased WordPiece.
LoadedTokenizer load_tokenizer(const std::filesystem::path& folder, std::int32_t vocabulary_size);

}  // namespace relucent
