#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "relucent/model/tokenizer.h"

namespace relucent {

struct LoadedTokenizer {
  std::unique_ptr<const Tokenizer> tokenizer;
  std::optional<std::int32_t> model_max_length;  ///< of tokenizer_config.json, if it is a real limit
};

/// Reads a checkpoint folder's tokenizer from vocab.txt (BERT's WordPiece), or else tokenizer.json, or else a
/// SentencePiece *.model, with the settings of tokenizer_config.json. `vocabulary_size` and `model_type` are
/// config.json's. Throws Error: `io` or `invalid_data` naming the file and the place in it; `unsupported` naming the
/// component that is unknown.
LoadedTokenizer load_tokenizer(const std::filesystem::path& folder, std::int32_t vocabulary_size,
                               std::string_view model_type = "bert");

}  // namespace relucent
