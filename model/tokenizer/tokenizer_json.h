#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "model/formats/json_file.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// Reads a tokenizer.json: the tokenizer gives the ids that Hugging Face's tokenizers library gives with its setting
/// encode_special_tokens. Truncation, padding and the decoder are ignored.
/// @param model_type  config.json's, for the pair template if the file states none
/// @param settings    tokenizer_config.json; may be null
/// Throws Error naming the file and the place in it: `io`, `invalid_data`; `unsupported` for an unknown component.
std::unique_ptr<const Tokenizer> read_tokenizer_json(const std::filesystem::path& path, std::string_view model_type,
                                                     const JsonFile* settings);

}  // namespace relucent
