#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "model/families/family.h"
#include "model/formats/json_file.h"
#include "model/formats/safetensors.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// A checkpoint folder, read and checked. The weights are views into the mapped file.
struct Checkpoint {
  std::filesystem::path folder;
  JsonFile config;
  FamilyConfiguration configuration;
  SafetensorsFile file;
  FamilyWeights weights;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::int32_t max_length = 0;  ///< the longest input, or less if tokenizer_config.json says so

  /// Tokens of the shortest input that is worth scoring: its special tokens and one piece.
  std::int32_t shortest_input() const;
};

/// Throws Error: `io` or `invalid_data` naming the file and the place in it, `unsupported` for unknown features.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

}  // namespace relucent
