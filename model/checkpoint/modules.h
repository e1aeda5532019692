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

/// The head of a modular cross-encoder (sentence-transformers 5.4): Pooling, then Dense and LayerNorm as far as they
/// are present, and a Dense with one output, which is the score.
struct ModularHead {
  Head form;
  std::filesystem::path dense, norm, output;  ///< folders; empty: the module is not present
  bool dense_bias = false, output_bias = false;
};

/// Reads a modules.json. Throws Error naming the file: `invalid_data` if it is not a list of modules in folders of the
/// checkpoint, the first one in the checkpoint's own; `unsupported` unless it is a Transformer alone or with the
/// modules of a ModularHead.
std::vector<Module> read_modules(const std::filesystem::path& path);

/// The head that the modules after the first one make on states of `hidden_size` features. Throws Error naming file and
/// key: `invalid_data` for impossible values, `unsupported` for other settings.
ModularHead read_modular_head(const std::vector<Module>& modules, std::int32_t hidden_size);

/// Reads the head's weights from the modules' model.safetensors. `weights.storage` then also keeps these files. Returns
/// whether all could be read. Throws the Errors of TensorReader, or gives them to `faults`.
bool read_modular_weights(const ModularHead& head, std::int32_t hidden_size, FaultList& faults,
                          EncoderWeights& weights);

}  // namespace relucent
