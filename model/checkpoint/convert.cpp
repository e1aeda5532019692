#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/encode_values.h"
#include "model/checkpoint/rewrite.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"

namespace relucent {
namespace {

/// Converts a tensor in parts, so that a large one needs little memory.
void write_as(DataType type, const SafetensorsFile& file, const SafetensorsEntry& entry,
              const TensorChange::Write& write) {
  constexpr std::size_t kMostElements = std::size_t{1} << 20;
  const TensorView whole = file.view(entry);
  const std::string place = fmt::format("{}, tensor {}", file.path_of(entry).string(), entry.name);
  for (std::size_t first = 0; first < whole.elements(); first += kMostElements) {
    const std::size_t count = std::min(kMostElements, whole.elements() - first);
    const TensorView part{
        whole.type, {static_cast<std::int64_t>(count)}, whole.data + first * element_size(whole.type)};
    write(encode_values(part.to_f32(), type, place, first));
  }
}

}  // namespace

void convert_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to,
                        std::optional<DataType> type) {
  const Checkpoint checkpoint = read_checkpoint(from);
  const SafetensorsFile& file = checkpoint.file;
  CheckpointChanges changes;
  if (!type) return rewrite_checkpoint(file, checkpoint.config, changes, to);
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!floating_type(entry.type)) continue;
    changes.tensors[entry.name] = {
        safetensors_name(*type), entry.shape,
        [&file, &entry, type](const TensorChange::Write& write) { write_as(*type, file, entry, write); }};
  }
  // Newer tools call the key "dtype".
  const char* name = *type == DataType::f32 ? "float32" : *type == DataType::f16 ? "float16" : "bfloat16";
  changes.config[checkpoint.config.find("dtype") != nullptr ? "dtype" : "torch_dtype"] = name;
  rewrite_checkpoint(file, checkpoint.config, changes, to);
}

DataType parse_data_type(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    if (lower == to_string(type)) return type;
  }
  throw Error(ErrorKind::usage, {}, "unknown data type " + name, "give f32, f16 or bf16");
}

const char* to_string(DataType type) noexcept {
  switch (type) {
    case DataType::f32: return "f32";
    case DataType::f16: return "f16";
    case DataType::bf16: return "bf16";
  }
  return "f32";
}

}  // namespace relucent
