#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "relucent/export.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// One tensor as described by model.safetensors or a shard of it.
struct TensorSummary {
  std::string name;
  std::string type;  ///< as in the file: "F32", "F16", "BF16", "I64" ...
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
  bool used = false;  ///< false: the encoder has no use for it and ignores it
};

/// The contents of a checkpoint folder, checked like CrossEncoder::load() checks them.
struct CheckpointInfo {
  std::filesystem::path folder;
  std::string model_type;    ///< "bert"
  std::string architecture;  ///< "ListformerModelForSequenceClassification" ...
  EncoderDescription description;
  std::string tokenizer;                  ///< human-readable: "WordPiece, 30522 entries, lower-cased (vocab.txt)"
  std::int32_t max_length = 0;            ///< tokens of the whole input, unless a caller asks for less
  std::uint64_t parameters = 0;           ///< elements of the used tensors
  std::uint64_t file_bytes = 0;           ///< of model.safetensors or its shards
  std::string weight_type;                ///< "F16"; several joined by "+"
  std::vector<TensorSummary> tensors;     ///< in the file's order
  std::vector<std::string> ignored_keys;  ///< of config.json: irrelevant here, or unknown
};

/// Reads a checkpoint folder like CrossEncoder::load, but creates no backend. Throws the same Errors.
RELUCENT_API CheckpointInfo inspect_checkpoint(const std::filesystem::path& folder);

struct CheckpointCheck {
  CheckpointInfo info;
  BackendInfo backend;
  std::vector<float> logits;  ///< of the trial inputs: a short pair, a long document, an empty document
};

/// Checks everything that load() checks, and that the encoder runs on the device: it must give finite, repeatable
/// logits for a few trial inputs up to the maximum length. Throws Error `invalid_data` if a weight or a logit is not
/// a finite number, and whatever load() throws.
RELUCENT_API CheckpointCheck check_checkpoint(const std::filesystem::path& folder, const BackendOptions& options = {});

/// Writes a copy of the checkpoint `from` into the new folder `to` with a position table of `positions` rows:
/// row i is the linear interpolation at p = i * (t - 1) / (positions - 1) between rows floor(p) and ceil(p)
/// of the old table, t = `trained_rows` (0: all rows). Values keep the table's data type. config.json and
/// tokenizer_config.json state the new length. The folder is created atomically. Throws Error: `usage`
/// if `to` exists, `positions` is not above the present number or t is out of range; `io` if `to` cannot
/// be written; and whatever inspect_checkpoint throws.
RELUCENT_API void extend_positions(const std::filesystem::path& from, const std::filesystem::path& to,
                                   std::int32_t positions, std::int32_t trained_rows = 0);

/// Writes a copy of the checkpoint `from` into the new folder `to` with its floating-point tensors as `type`
/// (rounded to nearest even; nullopt: as they are), all in one model.safetensors. The folder is created atomically.
/// Throws Error: `usage` if `to` exists; `invalid_data` for a value that the type cannot hold, naming the tensor; `io`
/// if `to` cannot be written; and whatever inspect_checkpoint throws.
RELUCENT_API void convert_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to,
                                     std::optional<DataType> type);

/// "f32", "f16" or "bf16" (any case); throws Error of kind `usage` for anything else.
RELUCENT_API DataType parse_data_type(const std::string& name);
RELUCENT_API const char* to_string(DataType type) noexcept;

}  // namespace relucent
