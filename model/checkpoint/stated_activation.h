#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/formats/json_file.h"

namespace relucent {

/// What sentence-transformers' CrossEncoder.predict applies to a checkpoint's logits.
struct StatedActivation {
  std::string name;    ///< "identity", "sigmoid", or another function of PyTorch's by its whole name
  std::string source;  ///< the file and key that state it, or "default"
  std::vector<std::string> warnings;
};

/// Reads it as sentence-transformers 6.2 does: from config_sentence_transformers.json (activation_fn), if that counts
/// (sentence_transformers.h), else from config.json (sentence_transformers.activation_fn, else
/// sbert_ce_default_activation_function), else sigmoid.
/// Functions that are not PyTorch's count as not stated. Never throws Error: an unreadable value becomes a warning.
StatedActivation read_stated_activation(const std::filesystem::path& folder, const JsonFile& config);

/// Whether `key` of config.json is one of those.
bool is_activation_key(std::string_view key);

}  // namespace relucent
