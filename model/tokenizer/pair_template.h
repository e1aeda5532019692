#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/formats/json_file.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// The id of a vocabulary's entry; throws Error naming the file if there is none.
using FindEntry = std::function<std::int32_t(const std::string&)>;

/// The template that a family's models are trained with, for tokenizers whose files do not state one:
/// `[CLS] query [SEP] document [SEP]`, or `<s> query </s></s> document </s>` for RoBERTa and XLM-RoBERTa, or
/// `query </s> document </s>` for T5.
/// @param model_type  config.json's
/// @param settings    tokenizer_config.json, which may give the tokens other names; may be null
PairTemplate usual_pair_template(std::string_view model_type, const JsonFile* settings, const FindEntry& find);

/// The name of a special token in tokenizer_config.json: a string, or an object with the string as "content".
std::string special_token(const JsonFile* settings, const char* key, const char* usual);

}  // namespace relucent
