#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_tree.h"
#include "model/formats/json_file.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/tokenizer_class.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// What a tokenizer is made of: a tokenizer.json, or another file in the same form.
struct TokenizerSource {
  const std::filesystem::path& path;  ///< for errors
  JsonTree document;
  std::uint64_t fingerprint = 0;  ///< of the file
};

/// What a tokenizer.json's neighbours state.
struct TokenizerContext {
  std::string_view model_type;         ///< config.json's, for the pair template if nothing else states one
  const JsonFile* settings = nullptr;  ///< tokenizer_config.json
  TokenizerClass::Kind kind = TokenizerClass::Kind::file;
  /// Further added tokens; those that the vocabulary does not have get the next ids, whatever their id is.
  std::vector<AddedToken> added = {};
};

struct JsonTokenizer {
  std::unique_ptr<const Tokenizer> tokenizer;
  /// The token type of the document and of what follows it; nullopt if types change elsewhere.
  std::optional<std::int32_t> document_type = 0;
  bool states_template = true;  ///< whether the class or the file states the special tokens around query and document
};

TokenizerSource read_tokenizer_json(const std::filesystem::path& path);

/// The tokenizer that gives the ids that Hugging Face's tokenizers library gives with its setting
/// encode_special_tokens. Truncation, padding and the decoder are ignored. Throws Error naming the file and the place
/// in it: `io`, `invalid_data`; `unsupported` for an unknown component.
JsonTokenizer make_tokenizer(TokenizerSource source, const TokenizerContext& context);

}  // namespace relucent
