#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/families/fault_list.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// One entry of sentence-transformers' modules.json.
struct Module {
  std::string type;              ///< the last part of its class's name: "Transformer", "Pooling", "Dense" ...
  std::filesystem::path folder;  ///< of its config.json; the checkpoint's own for the Transformer
};

/// The head of a modular cross-encoder (sentence-transformers 5.4): Pooling, then any number of Dense and LayerNorm,
/// and a Dense with one output, which is the score.
struct ModularHead {
  /// Where a step's weights are: folders, empty if the step has no such module.
  struct Step {
    std::filesystem::path dense, norm;
    bool bias = false;
  };
  Head form;
  std::vector<Step> steps;  ///< those of `form`
  std::filesystem::path output;
  bool output_bias = false;
};

/// Reads a modules.json. Throws Error naming the file: `invalid_data` if it is not a list of modules in folders of the
/// checkpoint, the first one in the checkpoint's own; `unsupported` unless it is a Transformer alone or with the
/// modules of a ModularHead.
std::vector<Module> read_modules(const std::filesystem::path& path);

/// The projection of PyLate's modules.json, which has a Transformer and a Dense, for states of `hidden_size` features:
/// a head whose one step it is. Throws Error as the functions above do.
ModularHead read_token_projection(const std::filesystem::path& folder, std::int32_t hidden_size);

/// What an embedding model's modules.json lists behind the Transformer: Pooling, any Dense and LayerNorm, Normalize.
struct EmbeddingModules {
  Pooling pooling = Pooling::mean;
  ModularHead after;  ///< steps without an output
  bool normalizes = false;
};
/// Throws Error as the functions above do.
EmbeddingModules read_embedding_modules(const std::filesystem::path& folder, std::int32_t hidden_size);

/// The tokens whose logits the score of a decoder with LogitScore compares.
struct LogitScore {
  std::filesystem::path config;
  std::int64_t yes = 0;
  std::optional<std::int64_t> no;
};

/// What a decoder's modules.json names behind the Transformer; nothing if there is no such file or no such module.
/// Throws Error as read_modules does.
std::optional<LogitScore> read_logit_score(const std::filesystem::path& folder);

/// The head that the modules after the first one make on states of `hidden_size` features. Throws Error naming file and
/// key: `invalid_data` for impossible values, `unsupported` for other settings.
ModularHead read_modular_head(const std::vector<Module>& modules, std::int32_t hidden_size);

/// Reads the head's weights from the modules' model.safetensors. `weights.storage` then also keeps these files. Returns
/// whether all could be read. Throws the Errors of TensorReader, or gives them to `faults`.
bool read_modular_weights(const ModularHead& head, std::int32_t hidden_size, FaultList& faults,
                          EncoderWeights& weights);

}  // namespace relucent
