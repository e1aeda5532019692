#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "model/formats/json_file.h"
#include "model/tokenizer/pair_template.h"

namespace relucent {

/// What Hugging Face's transformers (version 5) takes from a tokenizer's class instead of from its files: these classes
/// rebuild the tokenizer around the vocabulary of tokenizer.json, with the settings of tokenizer_config.json. All other
/// classes read tokenizer.json as it is.
struct TokenizerClass {
  enum class Kind { file, bert, roberta, xlm_roberta, camembert, t5 };
  Kind kind = Kind::file;
  bool types = true;  ///< whether it gives the document's tokens type 1
};

/// The class that reads the tokenizer of a checkpoint: the one that tokenizer_config.json (`settings`, may be null) or
/// else config.json (`stated`, may be empty) names, or the usual one of `model_type`.
TokenizerClass find_tokenizer_class(const JsonFile* settings, std::string_view stated, std::string_view model_type);

/// Replaces in a tokenizer.json what the class sets: normalizer, pre-tokenizer and settings of the model. Throws Error
/// `invalid_data` for settings that are not what they should be.
void apply_class(TokenizerClass::Kind kind, const JsonFile* settings, nlohmann::json& document);

/// The special tokens around query and document that a class sets; not for `file`.
PairTemplate class_template(TokenizerClass::Kind kind, const JsonFile* settings, const FindEntry& find);

}  // namespace relucent
