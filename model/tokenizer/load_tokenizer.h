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
  std::int32_t document_type = 0;                ///< token type that it gives the document and what follows it
  bool states_template = true;                   ///< false: its special tokens are the family's usual ones
};

/// Reads a checkpoint folder's tokenizer from tokenizer.json, or else vocab.txt (BERT's WordPiece), or else vocab.json
/// and merges.txt (RoBERTa's BPE), or else a SentencePiece *.model, with the settings of tokenizer_config.json and of
/// the files next to it, as Hugging Face's transformers (5) reads them. `vocabulary_size`, `model_type` and
/// `tokenizer_class` are config.json's. Throws Error: `io` or `invalid_data` naming the file and the place in it;
/// `unsupported` naming the component or setting that is not supported.
LoadedTokenizer load_tokenizer(const std::filesystem::path& folder, std::int32_t vocabulary_size,
                               std::string_view model_type = "bert", std::string_view tokenizer_class = {});

}  // namespace relucent
