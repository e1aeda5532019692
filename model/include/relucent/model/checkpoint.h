#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relucent/error.h"
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

/// The memory that a backend's weights take, in bytes, estimated from their number.
struct WeightMemory {
  std::uint64_t fp32 = 0, bf16 = 0, int8 = 0;  ///< cpu; ref takes as much as fp32, int16 as much as bf16
  std::uint64_t gpu_fp32 = 0, gpu_fp16 = 0;    ///< tf32 takes as much as fp32, bf16 as much as fp16
};

/// The contents of a checkpoint folder, checked like CrossEncoder::load() checks them.
struct CheckpointInfo {
  std::filesystem::path folder;
  std::string model_type;    ///< "bert"
  std::string architecture;  ///< "ListformerModelForSequenceClassification" ...
  EncoderDescription description;
  std::string tokenizer;           ///< human-readable: "WordPiece, 30522 entries, lower-cased (vocab.txt)"
  std::int32_t vocabulary = 0;     ///< entries of the tokenizer; the model's: description.vocabulary_size
  std::int32_t max_length = 0;     ///< tokens of the whole input, unless a caller asks for more or less
  std::int32_t max_positions = 0;  ///< the most that a caller can ask for
  /// For a MixEncoder or late interaction: tokens of a query and of a candidate, with the special ones; otherwise 0.
  std::int32_t query_max_length = 0, candidate_max_length = 0;
  /// For late interaction or an embedding model: numbers of a vector, and whether its length is 1.
  std::int32_t vector_size = 0;
  bool unit_vectors = false;
  std::string query_prompt, document_prompt;  ///< of an embedding model: stand before the texts
  /// For a MIR or PARADE: word pieces of a passage, and from one passage's start to the next one's; otherwise 0.
  std::int32_t passage_window = 0, passage_stride = 0;
  std::int32_t max_document_tokens = 0;  ///< for a MIR: word pieces of a document; otherwise 0
  std::int32_t max_passages = 0;         ///< for a PARADE; otherwise 0
  std::int32_t max_query_tokens = 0;     ///< word pieces of a query; 0: as many as fit, or a MixEncoder
  std::int32_t most_candidates = 0;      ///< of a Set-Encoder: how many are scored together; otherwise 0
  std::vector<std::string> labels;       ///< of a classifier, in the order of its outputs; empty: the model scores
  /// What sentence-transformers applies to a logit before it prints it: "identity", "sigmoid" or another function's
  /// name. Empty if the score is not a logit but a log-probability (T5) or a dot product (MixEncoder).
  std::string activation;
  std::vector<std::string> compared;      ///< the tokens whose outputs make the score: "yes" and "no"; usually none
  std::string activation_source;          ///< the file and key that state it, or "default"
  std::uint64_t parameters = 0;           ///< elements of the used tensors
  std::uint64_t file_bytes = 0;           ///< of model.safetensors or its shards
  std::string weight_type;                ///< "F16"; several joined by "+"
  std::vector<TensorSummary> tensors;     ///< in the file's order
  std::vector<std::string> ignored_keys;  ///< of config.json: irrelevant here, or unknown
  std::vector<std::string> warnings;      ///< what does not hinder scoring, but may surprise
  WeightMemory memory;
};

/// Reads a checkpoint folder like CrossEncoder::load, but creates no backend. Throws the same Errors.
RELUCENT_API CheckpointInfo inspect_checkpoint(const std::filesystem::path& folder);

/// What check_checkpoint() found.
struct CheckpointCheck {
  CheckpointInfo info;          ///< as far as the checkpoint could be read
  std::vector<Error> problems;  ///< all that were found; empty: the checkpoint can be used
  BackendInfo backend;          ///< if there are no problems
  std::vector<float> logits;    ///< of the trial inputs: a short pair, a long document, an empty document
};

/// Looks for everything that keeps load() from reading the checkpoint and the device from running it: every key, every
/// tensor, the tokenizer, weights that are not finite numbers, and trial inputs up to the maximum length, whose logits
/// must be finite and repeatable. A fault may hide others that depend on it: without a usable config.json no tensor has
/// a shape to compare. Throws only what is not a fault of the checkpoint or the device, such as std::bad_alloc.
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

/// What init_mix_encoder() makes of a BERT. Words as in config.json.
struct MixEncoderInit {
  std::string strategy = "special_tokens";                         ///< or "context_codes"
  std::int32_t context = 1;                                        ///< vectors per candidate, 1 to 16
  std::vector<std::int32_t> interaction_layers;                    ///< from 0, ascending; empty: the last layer
  std::string pooling = "mean";                                    ///< or "split"
  std::string query_state = "gated";                               ///< or "cls": the paper's model without H
  std::string candidate_state = "interacted";                      ///< or "stored": without E
  std::vector<std::string> labels = {};                            ///< of a classifier, at least 2; empty: it scores
  std::int32_t query_max_length = 32, candidate_max_length = 180;  ///< tokens, with [CLS] and [SEP]
  std::uint64_t seed = 1;
};

/// Writes a MixEncoder as its training starts into the new folder `to`: the encoder of the BERT folder `from` (of any
/// head), interaction layers that are copies of its layers, and random values, the same for a seed, for the gate and
/// the special tokens or codes. Until it is trained it ranks at random. The folder is created atomically and loads.
/// Throws Error: `usage` if `to` exists or a setting does not fit; `unsupported` if `from` is not a BERT; `io`,
/// `invalid_data`.
RELUCENT_API void init_mix_encoder(const std::filesystem::path& from, const std::filesystem::path& to,
                                   const MixEncoderInit& settings = {});

/// What init_poly_encoder() makes of a BERT.
struct PolyEncoderInit {
  std::int32_t codes = 64;  ///< vectors of a query
  std::int32_t query_max_length = 32, candidate_max_length = 180;
  std::uint64_t seed = 1;
};

/// Writes a Poly-Encoder as its training starts into the new folder `to`: the encoder of the BERT folder `from` (of any
/// head) and random codes. Throws the same Errors as init_mix_encoder().
RELUCENT_API void init_poly_encoder(const std::filesystem::path& from, const std::filesystem::path& to,
                                    const PolyEncoderInit& settings = {});

/// What init_deformer() makes of a BERT.
struct DeformerInit {
  std::int32_t lower_layers = 0;   ///< that compute query and document apart; 0: three of four, as the paper's 9 of 12
  std::int32_t query_length = 30;  ///< the most word pieces of a query; documents get the other places
  std::uint64_t seed = 1;
};

/// Writes a Deformer as its training starts into the new folder `to`: the BERT folder `from`, with its pooler and its
/// head of one output if it has them, otherwise with random ones. Until it is trained it ranks badly or at random.
/// Throws the same Errors as init_mix_encoder().
RELUCENT_API void init_deformer(const std::filesystem::path& from, const std::filesystem::path& to,
                                const DeformerInit& settings = {});

/// What init_mir() makes of a BERT.
struct MirInit {
  std::int32_t window = 128, stride = 96;  ///< of passages, in pieces
  std::int32_t max_document_tokens = 2048;
  /// Ids of unused entries of the vocabulary; unset: [unused0] and [unused1].
  std::optional<std::int32_t> passage_token = std::nullopt, sentence_token = std::nullopt;
  // The paper's ablations.
  std::vector<std::string> views = {"passage", "sentence", "token"};  ///< those that exchange pivots
  std::map<std::string, std::string> links = {};  ///< of views: "graph" (the usual), "none" or "all"
  std::string exchanges = "every";                ///< layers with an exchange: "every" or "last"
  bool shared_layers = false;                     ///< pivots pass through the layers of the tokens
  std::string pooling = "attention";              ///< of a view's pivots: or "max", "transformer"
  std::uint64_t seed = 1;
};

/// Writes a MIR as its training starts into the new folder `to`: the encoder of the BERT folder `from` (of any head),
/// random layers between passages, whose part in the tokens is also random, and a random head; the tokens of passages
/// and sentences start as [CLS] and [SEP]. Until it is trained it ranks at random. The folder is created atomically and
/// loads. Throws Error as init_mix_encoder() does.
RELUCENT_API void init_mir(const std::filesystem::path& from, const std::filesystem::path& to,
                           const MirInit& settings = {});

/// What init_parade() makes of a BERT.
struct ParadeInit {
  std::int32_t window = 225, stride = 200;  ///< of passages, in pieces
  std::int32_t max_passages = 16;
  std::int32_t max_query_tokens = 30;
  std::string aggregation = "transformer";  ///< or "max"
  std::uint64_t seed = 1;
};

/// Writes a PARADE as its training starts into the new folder `to`: the encoder of the BERT folder `from` (of any head)
/// and a random aggregation and head. Until it is trained it ranks at random. The folder is created atomically and
/// loads. Throws Error as init_mix_encoder() does.
RELUCENT_API void init_parade(const std::filesystem::path& from, const std::filesystem::path& to,
                              const ParadeInit& settings = {});

/// "f32", "f16" or "bf16" (any case); throws Error of kind `usage` for anything else.
RELUCENT_API DataType parse_data_type(const std::string& name);
RELUCENT_API const char* to_string(DataType type) noexcept;

}  // namespace relucent
