#include <fmt/core.h>

#include <algorithm>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/encode_values.h"
#include "model/checkpoint/rewrite.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"

namespace relucent {
namespace {

constexpr std::int32_t kMaxPositions = 1 << 20;

/// `rows` rows; row i lies at p = i * (trained - 1) / (rows - 1) of `table` [*, width].
std::vector<float> interpolate(const std::vector<float>& table, std::size_t width, std::size_t trained,
                               std::size_t rows) {
  std::vector<float> result(rows * width);
  for (std::size_t i = 0; i < rows; ++i) {
    // Integer quotient and remainder: exact if p is a row of the table.
    const std::size_t place = i * (trained - 1);
    const std::size_t lower = place / (rows - 1);
    const std::size_t upper = std::min(lower + 1, trained - 1);
    const double share = static_cast<double>(place % (rows - 1)) / static_cast<double>(rows - 1);
    for (std::size_t j = 0; j < width; ++j) {
      const double a = table[lower * width + j], b = table[upper * width + j];
      result[i * width + j] = static_cast<float>(a + share * (b - a));
    }
  }
  return result;
}

}  // namespace

void extend_positions(const std::filesystem::path& from, const std::filesystem::path& to, std::int32_t positions,
                      std::int32_t trained_rows) {
  const Checkpoint checkpoint = read_checkpoint(from);
  const SafetensorsFile& file = checkpoint.file;
  if (checkpoint.weights.position_table.empty()) {
    throw Error(ErrorKind::unsupported, from.string(), "the model has no position table that could be extended");
  }
  const TensorView& table = checkpoint.weights.weights.position_embeddings;
  const std::int32_t present = checkpoint.configuration.description.max_positions;
  if (positions <= present || positions > kMaxPositions) {
    throw Error(ErrorKind::usage, from.string(),
                fmt::format("cannot be extended from {} to {} positions", present, positions),
                fmt::format("give a number from {} to {}", present + 1, kMaxPositions));
  }
  if (trained_rows < 0 || trained_rows == 1 || trained_rows > present) {
    throw Error(ErrorKind::usage, from.string(),
                fmt::format("the number of trained rows is {}, but the table has {} rows", trained_rows, present),
                fmt::format("give 2 to {}, or 0 for all of them", present));
  }
  const auto width = static_cast<std::size_t>(table.shape.at(1));
  CheckpointChanges changes;
  const std::string& name = checkpoint.weights.position_table;
  changes.tensors[name] = {
      safetensors_name(table.type),
      {static_cast<std::uint64_t>(positions), width},
      [&, width, positions, trained_rows](const TensorChange::Write& write) {
        const auto trained = static_cast<std::size_t>(trained_rows != 0 ? trained_rows : table.shape.at(0));
        const auto values = interpolate(table.to_f32(), width, trained, static_cast<std::size_t>(positions));
        write(encode_values(values, table.type, fmt::format("{}, tensor {}", file.path().string(), name)));
      }};
  // Buffers that merely number the positions; readers recreate them.
  changes.tensors_left_out = checkpoint.weights.per_position;
  changes.config["max_position_embeddings"] = positions;
  changes.tokenizer_config["model_max_length"] = positions;
  rewrite_checkpoint(file, checkpoint.config, changes, to);
}

}  // namespace relucent
