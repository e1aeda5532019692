#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace relucent {

/// The tensors of each shard that a model.safetensors.index.json states, by the shard's file name:
/// {"weight_map": {"TENSOR": "FILE"}}. Throws Error naming the file and the key: `invalid_data` if it has another form
/// or names a file outside its own folder, `io` if shards are missing.
std::map<std::string, std::set<std::string>> read_safetensors_index(const std::filesystem::path& path);

}  // namespace relucent
