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
#include "model/formats/safetensors_writer.h"

namespace relucent {

/// A replacement for an existing tensor.
struct TensorChange {
  std::string type;
  std::vector<std::uint64_t> shape;
  using Write = NewTensor::Write;
  /// Computes the bytes when they are written, in parts. Null: keep the old tensor's bytes.
  std::function<void(const Write& write)> bytes;
};

/// The changes to make in a copy of a checkpoint.
struct CheckpointChanges {
  std::map<std::string, TensorChange> tensors;
  std::vector<std::string> tensors_left_out;
  std::map<std::string, nlohmann::ordered_json> config;            ///< keys of config.json
  std::map<std::string, nlohmann::ordered_json> tokenizer_config;  ///< keys of tokenizer_config.json, if there is one
};

/// Copies the checkpoint with weights `file` and configuration `config` into the new folder `to`, applying
/// `changes`. Skips other weight files and copies everything else. The folder is created atomically. Throws Error:
/// `usage` if `to` exists, `io` if it cannot be written, `unsupported` for a modular head, and whatever `bytes` throws.
void rewrite_checkpoint(const SafetensorsFile& file, const JsonFile& config, const CheckpointChanges& changes,
                        const std::filesystem::path& to);

}  // namespace relucent
