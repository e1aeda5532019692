// Weights as PyTorch saves them, made into safetensors.
#pragma once

#include <filesystem>

namespace relucent::index_tools {

/// Whether a checkpoint folder has its weights only as pytorch_model.bin, in one file or with an index of several.
bool has_pytorch_weights(const std::filesystem::path& folder);

/// Copies a checkpoint folder with its pytorch_model.bin as model.safetensors: the same names, types and numbers.
/// Throws Error: `usage` if `to` exists, `unsupported` for files of PyTorch before 1.6 and whatever
/// read_pickled_tensors() refuses, `invalid_data` for damaged files, `io`.
void convert_pytorch(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace relucent::index_tools
