#include "model/checkpoint/rewrite.h"

#include <algorithm>

#include "base/file/folder_entries.h"
#include "base/file/new_folder.h"
#include "model/checkpoint/sentence_transformers.h"
#include "model/checkpoint/weight_files.h"
#include "model/families/family.h"
#include "model/formats/safetensors_writer.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

void write_weights(const SafetensorsFile& file, const CheckpointChanges& changes, const NewFolder& folder) {
  std::vector<NewTensor> tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    const auto& left_out = changes.tensors_left_out;
    if (std::find(left_out.begin(), left_out.end(), entry.name) != left_out.end()) continue;
    const auto change = changes.tensors.find(entry.name);
    NewTensor tensor{entry.name, entry.type, entry.shape,
                     [&file, &entry](const NewTensor::Write& write) { write(file.data(entry)); }};
    if (change != changes.tensors.end()) {
      tensor.type = change->second.type;
      tensor.shape = change->second.shape;
      if (change->second.bytes) tensor.bytes = change->second.bytes;
    }
    tensors.push_back(std::move(tensor));
  }
  write_safetensors(tensors, file.metadata(), folder);
}

void write_json(OrderedJson object, const std::map<std::string, OrderedJson>& changes, std::string_view name,
                NewFolder& folder) {
  for (const auto& [key, value] : changes) object[key] = value;
  NewFolder::File out(folder, name);
  out.write(object.dump(2) + "\n");
  out.finish();
}

}  // namespace

void rewrite_checkpoint(const SafetensorsFile& file, const JsonFile& config, const CheckpointChanges& changes,
                        const fs::path& to) {
  const fs::path from = config.path().parent_path();
  const bool modular = counting_configuration(from) && read_modules(from / "modules.json").size() > 1;
  const bool has_modules = fs::exists(from / "modules.json");
  if (modular || is_embedding_model(config) || (find_family(config).late_interaction && has_modules)) {
    throw Error(ErrorKind::unsupported, (from / "modules.json").string(), "gives the model a head of modules",
                "change the checkpoint with sentence-transformers, whose save_pretrained() also writes these");
  }
  NewFolder folder(to);
  write_weights(file, changes, folder);
  write_json(config.object(), changes.config, "config.json", folder);
  for (const auto& [name, is_folder] : entries_of(from)) {
    // Weights in other forms would contradict the new ones.
    if (is_folder || is_weight_file(name) || name == "config.json") continue;
    if (name == "tokenizer_config.json" && !changes.tokenizer_config.empty()) {
      write_json(JsonFile::read(from / name).object(), changes.tokenizer_config, name, folder);
    } else {
      folder.copy(from / name);
    }
  }
  folder.publish();
}

}  // namespace relucent
