#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/formats/json_file.h"
#include "model/formats/safetensors.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// What a model family reads out of config.json.
struct FamilyConfiguration {
  std::string architecture;
  EncoderDescription description;
  std::vector<std::string> ignored_keys;
};

/// The weights a family finds in a safetensors file.
struct FamilyWeights {
  EncoderWeights weights;
  std::vector<std::string> used;          ///< names of the tensors
  std::string position_table;             ///< the one with a row a position
  std::vector<std::string> per_position;  ///< buffers that only count the positions
};

/// A model family: how its checkpoints are read into the description and weights that backends run. A new one
/// is a file beside bert.cpp and a line in family.cpp.
struct Family {
  std::string_view model_type;  ///< config.json's `model_type`

  /// Throws Error `invalid_data` for a value that cannot be, `unsupported` for an architecture or a key that
  /// is not understood; both name file and key.
  FamilyConfiguration (*read_configuration)(const JsonFile& config);

  /// Throws Error `invalid_data` naming file and tensor where one is missing or has another shape than
  /// `description` says, `unsupported` where it has a type that backends do not know.
  FamilyWeights (*read_weights)(const SafetensorsFile& file, const EncoderDescription& description);
};

/// The family of a config.json. Throws Error `unsupported` for one that is not in the table.
const Family& find_family(const JsonFile& config);

}  // namespace relucent
