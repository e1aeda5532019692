#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/checkpoint/modules.h"
#include "model/families/family.h"
#include "model/families/fault_list.h"
#include "model/formats/json_file.h"
#include "model/formats/safetensors.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

/// A checkpoint folder, read and checked. The weights are views into the tensors that were read.
struct Checkpoint {
  std::filesystem::path folder;
  JsonFile config;
  FamilyConfiguration configuration;
  SafetensorsFile file;
  FamilyWeights weights;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::int32_t max_length = 0;  ///< the longest input, or less if tokenizer_config.json asks for it
  std::string prompt;           ///< of sentence-transformers' files: stands before every query

  /// Tokens of the shortest input that is worth scoring: its special tokens and one piece.
  std::int32_t shortest_input() const;
};

/// As much of a checkpoint as could be read.
struct CheckpointParts {
  std::filesystem::path folder;
  std::optional<JsonFile> config;
  const Family* family = nullptr;
  std::optional<FamilyConfiguration> configuration;
  bool shapes_known = false;  ///< whether config.json states the shapes of all tensors
  std::optional<SafetensorsFile> file;
  std::optional<FamilyWeights> weights;
  std::optional<ModularHead> head;  ///< if it is not in `file`
  std::vector<std::string> used;    ///< names of the tensors that are as they should be
  std::unique_ptr<const Tokenizer> tokenizer;
  std::int32_t max_length = 0;
  std::string prompt;
};

/// Gives `faults`, each as an Error: `io` or `invalid_data` naming the file and the place in it, `unsupported` for
/// unknown features. Without faults all parts are there.
/// `named`: as for model_folder().
CheckpointParts read_parts(const std::filesystem::path& named, FaultList& faults);

/// All parts, of which none may be missing.
Checkpoint assemble(CheckpointParts parts);

/// The description of a checkpoint, as far as it has been read.
CheckpointInfo describe_checkpoint(const CheckpointParts& parts);

/// Throw Error `unsupported` if a model has labels (FamilyConfiguration::labels) and so no score; or if it has none.
void refuse_labels(const std::filesystem::path& folder, const std::vector<std::string>& labels);
void require_labels(const std::filesystem::path& folder, const std::vector<std::string>& labels);

/// Throws the first fault that read_parts finds.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

}  // namespace relucent
