#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/formats/json_file.h"
#include "model/formats/safetensors.h"

namespace relucent {

/// A tensor to be written instead of one that is there.
struct TensorChange {
  std::string type;
  std::vector<std::uint64_t> shape;
  /// Its bytes, made when they are written. Null: those of the old tensor.
  std::function<std::vector<std::byte>()> bytes;
};

/// What a copy of a checkpoint has otherwise.
struct CheckpointChanges {
  std::map<std::string, TensorChange> tensors;
  std::vector<std::string> tensors_left_out;
  std::map<std::string, nlohmann::ordered_json> config;            ///< keys of config.json
  std::map<std::string, nlohmann::ordered_json> tokenizer_config;  ///< keys of tokenizer_config.json, if there is one
};

/// Copies the checkpoint whose weights are `file` and whose config.json is `config` into the new folder `to`,
/// with `changes`. Other weight files are left out, everything else is copied. The folder appears whole or
/// not at all. Throws Error: `usage` where `to` exists, `io` where it cannot be written, and what `bytes`
/// throws.
void rewrite_checkpoint(const SafetensorsFile& file, const JsonFile& config, const CheckpointChanges& changes,
                        const std::filesystem::path& to);

}  // namespace relucent
