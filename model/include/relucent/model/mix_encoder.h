#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/export.h"
#include "relucent/kernels/backend.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

/// A candidate for MixEncoder::score(). Views live as long as the call.
struct MixCandidate {
  std::string_view text;  ///< UTF-8; invalid bytes count as U+FFFD. Read only if there are no states
  /// [rows][hidden] numbers that encode() of the same checkpoint returned for the text, or empty.
  std::span<const float> states = {};
};

/// One candidate's score.
struct MixScore {
  float score = 0;          ///< a dot product; higher is better
  std::int32_t tokens = 0;  ///< of a text that was encoded now, with special tokens; 0 if its states were given
  bool truncated = false;   ///< the text encoded now was longer than the checkpoint's candidate_max_length
};

/// The scores of one query's candidates.
struct MixScores {
  std::vector<MixScore> candidates;  ///< in the order given
  std::int32_t query_tokens = 0;     ///< word pieces used, without special tokens
  bool query_truncated = false;      ///< the query was longer than the checkpoint's query_max_length
  StageTimes times;                  ///< tokenize, encode and device
};

/// A MixEncoder (EMNLP 2023): each candidate is encoded once, before any query, into a few vectors; a query is encoded
/// once per search; their interaction is a few light layers. Thread-safe.
class RELUCENT_API MixEncoder {
 public:
  virtual ~MixEncoder() = default;

  /// Reads a checkpoint folder whose config.json has the model_type "mixencoder". Throws the same Errors as
  /// CrossEncoder::load; `unsupported` for another model type.
  static std::shared_ptr<const MixEncoder> load(const std::filesystem::path& checkpoint,
                                                const BackendOptions& options = {});

  virtual std::int32_t rows() const noexcept = 0;    ///< vectors per candidate
  virtual std::int32_t hidden() const noexcept = 0;  ///< numbers per vector
  /// A hash of everything that decides what encode() returns: configuration, tokenizer and weights of the text's
  /// encoder, but not the device, its precision or the weights of the interaction.
  virtual std::uint64_t fingerprint() const noexcept = 0;

  /// Writes the states of texts (UTF-8): [texts][rows][hidden]. A text's states depend on it alone; their bits do not
  /// change with the rest of the batch or the number of threads. Throws Error: `usage` for a span of another size,
  /// `deadline` or `interrupted` when `stop` is due, and whatever Backend::encode throws.
  virtual void encode(std::span<const std::string_view> texts, std::span<float> states,
                      const StopSignal& stop = {}) const = 0;

  /// Scores candidates against `query` (UTF-8). A candidate's score depends only on the query and itself, and is the
  /// same whether its text is encoded now or its states are given. Throws Error: `usage` for states of another size,
  /// `deadline` or `interrupted` when `stop` is due.
  virtual MixScores score(std::string_view query, std::span<const MixCandidate> candidates,
                          const StopSignal& stop = {}) const = 0;

  /// The names of a classifier's labels, in the order of its outputs; empty: the model scores. score() refuses a
  /// classifier, classify() every other model, with Error `unsupported`.
  virtual std::vector<std::string> labels() const { return {}; }
  /// Throws Error `unsupported` for a classifier.
  void require_scores() const;
  /// The logits of all labels for the query with each candidate: [candidates][labels].
  virtual std::vector<float> classify(std::string_view query, std::span<const MixCandidate> candidates,
                                      const StopSignal& stop = {}) const = 0;

  virtual const BackendInfo& backend() const noexcept = 0;
  virtual const std::filesystem::path& checkpoint() const noexcept = 0;
  virtual std::int32_t max_length() const noexcept = 0;  ///< tokens of a candidate, with [CLS] and [SEP]
};

/// The model_type of a checkpoint folder's config.json: "bert", "mixencoder". Throws Error `io` or `invalid_data` if it
/// cannot be read or states none.
RELUCENT_API std::string checkpoint_model_type(const std::filesystem::path& folder);

}  // namespace relucent
