#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "model/formats/json_file.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// Reads a *.model of SentencePiece; its library makes the ids. The ids of XLM-RoBERTa (`model_type` of config.json)
/// are fairseq's: <s>, <pad>, </s> and <unk> first, then the model's pieces without its own first three.
/// @param settings  tokenizer_config.json; may be null
/// Throws Error: `io`, `invalid_data` naming the file and the place, `unsupported`.
std::unique_ptr<const Tokenizer> read_sentencepiece(const std::filesystem::path& path, std::string_view model_type,
                                                    const JsonFile* settings);

}  // namespace relucent
