#include "model/formats/safetensors_index.h"

#include <fmt/core.h>

#include <vector>

#include "base/text.h"
#include "model/formats/json_file.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kMaxShards = 1000;

/// Whether `name` is that of a file in the index's own folder.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string("/\\\0", 3)) == name.npos;
}

}  // namespace

std::map<std::string, std::set<std::string>> read_safetensors_index(const std::filesystem::path& path) {
  const JsonFile index = JsonFile::read(path);
  const auto* map = index.find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    index.fail("weight_map", "does not state which file has which tensor");
  }
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, file] : map->items()) {
    const std::string key = "weight_map." + tensor;
    if (!file.is_string()) index.fail(key, "is not a file's name");
    const auto name = file.get<std::string>();
    if (!is_file_name(name)) {
      index.fail(key, fmt::format("names {}, which is not a file in the same directory", file.dump()));
    }
    shards[name].insert(tensor);
    if (shards.size() > kMaxShards) index.fail(key, fmt::format("is in one of more than {} files", kMaxShards));
  }
  std::vector<std::string> missing;
  for (const auto& [name, tensors] : shards) {
    if (!std::filesystem::exists(path.parent_path() / name)) missing.push_back(name);
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::io, path.string(),
                fmt::format("{} of its {} files {} missing: {}", missing.size(), shards.size(),
                            missing.size() == 1 ? "is" : "are", join(missing)),
                "download the missing files into the same directory");
  }
  return shards;
}

}  // namespace relucent
