#include "model/checkpoint/inspect.h"

#include <set>

#include "base/text.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/checkpoint.h"

namespace relucent {

CheckpointInfo describe_checkpoint(const Checkpoint& checkpoint) {
  CheckpointInfo info;
  info.folder = checkpoint.folder;
  info.model_type = checkpoint.config.string("model_type").value_or("");
  info.architecture = checkpoint.configuration.architecture;
  info.description = checkpoint.configuration.description;
  info.tokenizer = checkpoint.tokenizer->summary();
  info.max_length = checkpoint.max_length;
  info.file_bytes = checkpoint.file.file_bytes();
  info.ignored_keys = checkpoint.configuration.ignored_keys;
  const std::set<std::string> used(checkpoint.weights.used.begin(), checkpoint.weights.used.end());
  std::set<std::string> types;
  for (const SafetensorsEntry& entry : checkpoint.file.entries()) {
    TensorSummary summary{entry.name,
                          entry.type,
                          {entry.shape.begin(), entry.shape.end()},
                          entry.end - entry.begin,
                          used.contains(entry.name)};
    if (summary.used) {
      info.parameters += checkpoint.file.view(entry).elements();
      types.insert(entry.type);
    }
    info.tensors.push_back(std::move(summary));
  }
  info.weight_type = join(types, "+");
  return info;
}

CheckpointInfo inspect_checkpoint(const std::filesystem::path& folder) {
  return describe_checkpoint(read_checkpoint(folder));
}

}  // namespace relucent
