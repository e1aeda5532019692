#include "model/checkpoint/rewrite.h"

#include <algorithm>

#include "base/file/new_folder.h"
#include "model/checkpoint/weight_files.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Output {
  const SafetensorsEntry* old;
  const TensorChange* change;  // null: unchanged
  const std::string& type() const { return change != nullptr ? change->type : old->type; }
  const std::vector<std::uint64_t>& shape() const { return change != nullptr ? change->shape : old->shape; }
  std::uint64_t bytes() const {
    std::uint64_t product = safetensors_element_size(type()).value_or(0);
    for (const std::uint64_t size : shape()) product *= size;
    return product;
  }
};

std::vector<Output> plan(const SafetensorsFile& file, const CheckpointChanges& changes) {
  std::vector<Output> outputs;
  for (const SafetensorsEntry& entry : file.entries()) {
    const auto& left_out = changes.tensors_left_out;
    if (std::find(left_out.begin(), left_out.end(), entry.name) != left_out.end()) continue;
    const auto change = changes.tensors.find(entry.name);
    outputs.push_back({&entry, change == changes.tensors.end() ? nullptr : &change->second});
  }
  return outputs;
}

/// The header, preceded by its length and padded with spaces so that the data begins at a multiple of 8 bytes.
std::string header(const std::vector<Output>& outputs, const std::map<std::string, std::string>& metadata) {
  Json json = Json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t reached = 0;
  for (const Output& output : outputs) {
    const std::uint64_t end = reached + output.bytes();
    json[output.old->name] = {{"dtype", output.type()}, {"shape", output.shape()}, {"data_offsets", {reached, end}}};
    reached = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return length + text;
}

void write_weights(const SafetensorsFile& file, const CheckpointChanges& changes, NewFolder& folder) {
  const std::vector<Output> outputs = plan(file, changes);
  NewFolder::File out(folder, "model.safetensors");
  out.write(header(outputs, file.metadata()));
  for (const Output& output : outputs) {
    if (output.change == nullptr || !output.change->bytes) {
      out.write(file.data(*output.old));
      continue;
    }
    std::uint64_t written = 0;
    output.change->bytes([&](std::span<const std::byte> part) {
      written += part.size();
      out.write(part);
    });
    if (written != output.bytes()) {
      throw Error(ErrorKind::internal, output.old->name, "the new tensor's size does not match its shape");
    }
  }
  out.finish();
}

void write_json(Json object, const std::map<std::string, Json>& changes, std::string_view name, NewFolder& folder) {
  for (const auto& [key, value] : changes) object[key] = value;
  NewFolder::File out(folder, name);
  out.write(object.dump(2) + "\n");
  out.finish();
}

}  // namespace

void rewrite_checkpoint(const SafetensorsFile& file, const JsonFile& config, const CheckpointChanges& changes,
                        const fs::path& to) {
  NewFolder folder(to);
  write_weights(file, changes, folder);
  write_json(config.object(), changes.config, "config.json", folder);
  for (const auto& entry : fs::directory_iterator(config.path().parent_path())) {
    const std::string name = entry.path().filename().string();
    // Weights in other forms would contradict the new ones.
    if (!entry.is_regular_file() || is_weight_file(entry.path()) || name == "config.json") continue;
    if (name == "tokenizer_config.json" && !changes.tokenizer_config.empty()) {
      write_json(JsonFile::read(entry.path()).object(), changes.tokenizer_config, name, folder);
    } else {
      folder.copy(entry.path());
    }
  }
  folder.publish();
}

}  // namespace relucent
