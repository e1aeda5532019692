#pragma once

#include <filesystem>
#include <string_view>

#include "model/formats/safetensors.h"

namespace relucent {

/// Whether a file's name shows that it holds weights of a model, in whatever format, or lists such files.
bool is_weight_file(const std::filesystem::path& path);

/// Opens the model.safetensors of a checkpoint folder, or else the shards of its model.safetensors.index.json. Throws
/// Error: `unsupported` naming weights in another format and how to convert them, and whatever SafetensorsFile throws.
SafetensorsFile open_weights(const std::filesystem::path& folder, std::string_view model_type);

}  // namespace relucent
