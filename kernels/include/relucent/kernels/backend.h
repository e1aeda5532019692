#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "relucent/device.h"
#include "relucent/export.h"
#include "relucent/kernels/encoder.h"
#include "relucent/stop.h"

namespace relucent {

/// Tokens of one group, given by their ids, or by states computed earlier. These enter the first layer; those of a
/// candidate whose text passes through layers apart from the query (Plan::layers_apart()) enter the layer behind them.
struct Segment {
  std::int32_t group = 0;  ///< index into EncoderDescription::groups
  std::span<const std::int32_t> ids;
  std::span<const std::int32_t> positions;  ///< one per token: rows of the position table, and what windows measure
  std::int32_t type = 0;                    ///< the tokens' row of the token type table
  std::span<const float> states = {};       ///< [tokens][hidden]; then `ids` is empty
  /// In late interaction, the number of tokens at the text's end that belong to the group kExpansion instead.
  std::size_t expansion = 0;

  std::size_t tokens() const noexcept { return positions.size(); }
};

/// The pivots of one group (TokenGroup::pivots_of) in a document.
struct Pivots {
  /// One pivot: its candidate, its tokens and the pivots that it sees.
  struct Pivot {
    std::size_t candidate = 0;                ///< number among the document's
    std::size_t first_token = 0, tokens = 0;  ///< a range of Pivots::tokens, not empty
    std::size_t first_seen = 0, seen = 0;     ///< a range of Pivots::seen; pivots may share one
  };
  std::int32_t group = 0;
  std::span<const Pivot> pivots;
  /// Places among the candidate's tokens of the group that the pivots are of. No two pivots of a document share a
  /// token.
  std::span<const std::int32_t> tokens;
  std::span<const std::int32_t>
      seen;  ///< numbers of pivots of this group; each pivot's ascend and have the pivot itself
};

/// A document in several candidates of a batch, its passages.
struct DocumentPassages {
  std::size_t candidates = 0;      ///< at least 1
  std::span<const Pivots> pivots;  ///< one per group of pivots
};

/// A query and its candidates. What the spans refer to must stay valid while the batch is in use.
struct ScoringBatch {
  std::span<const Segment> shared;                       ///< part of every candidate's input: [CLS], the query
  std::span<const std::span<const Segment>> candidates;  ///< the rest of each candidate's input: the document
  /// For a description whose head pools pivots, which scores documents: runs of the candidates, in their order.
  std::span<const DocumentPassages> documents = {};
};

/// All hidden states of one candidate, or of one document's. For tests and diagnosis; not optimized.
struct HiddenStates {
  /// [layers of all stacks][segments][tokens * hidden]: after each layer and what follows it; of each candidate the
  /// shared segments come first. Groups that need no segment come last: a derived one, if the candidate has none, then
  /// the gated token.
  std::vector<std::vector<std::vector<float>>> layers;
  std::vector<std::vector<std::vector<float>>> pivots;  ///< [exchanges][groups][pivots * hidden]: after each exchange
  std::vector<std::vector<float>> pooled;               ///< [groups of a head that pools pivots][hidden]
  float logit = 0;
};

/// What a backend runs on.
struct BackendInfo {
  std::string device;  ///< "ref", "cpu", "cuda:0"; "cuda:0,1" if queries are spread over several GPUs
  Precision precision = Precision::fp32;
  /// What was chosen at run time: "plain", "avx2", "avx512", "avx512_bf16", "amx", "neon_bf16", "sm_90".
  std::string instruction_set;
  int threads = 1;
  std::string device_name;  ///< of a GPU: "NVIDIA H100 80GB HBM3"
  std::string why_no_gpu;   ///< why device = "auto" chose the CPU; empty if it did not
  bool gpu_failed = false;  ///< why_no_gpu is of a GPU that is there
  /// On a GPU: the algorithms that cublasLt uses, one line per form of product and number of rows. For diagnosis.
  std::vector<std::string> products;
  /// On a GPU: how the launches of a search are started, "one by one" or "recorded up to N rows": by one call if the
  /// search has at most N tokens, those of [CLS] and the query included. For diagnosis.
  std::string launches;
};

/// The cost of a call on an accelerator; all zeros without one.
struct DeviceCost {
  std::chrono::nanoseconds time{0};  ///< from ids to logits by the device's own clock, including both copies
  std::uint64_t bytes = 0;           ///< peak device memory of the call's activations, without the weights
};

/// What a backend is to run on.
struct BackendOptions {
  Device device;
  Precision precision = Precision::automatic;
  int threads = 0;              ///< of the CPU backend; 0: one per core that this process may use
  std::string instruction_set;  ///< empty: the best one available; tests name one to force it
};

/// Scores batches with one encoder's weights. Thread-safe: any number of threads may call score() concurrently.
/// A candidate's logit depends only on the query and itself (unless a view reaches across), a document's on the query
/// and its passages: the bits do not change with the rest of the batch, the order or the number of threads.
class RELUCENT_API Backend {
 public:
  virtual ~Backend() = default;

  virtual const BackendInfo& info() const noexcept = 0;

  /// Writes one raw logit per candidate, or per document if the head pools pivots, in the given order; or, if
  /// the head classifies, the logits of all its labels per candidate. There are none in late interaction, whose texts
  /// encode() takes and max_sim.h compares. Throws Error: `usage` for an id, position or token type outside its table,
  /// an empty segment or one in the wrong place; `unsupported` for segments that this backend cannot run; `deadline` or
  /// `interrupted` when `stop` is due. The contents of `logits` are then unspecified.
  virtual void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop = {}) const = 0;

  /// score() that also reports its cost on the device.
  virtual DeviceCost score_with_cost(const ScoringBatch& batch, std::span<float> logits,
                                     const StopSignal& stop = {}) const {
    score(batch, logits, stop);
    return {};
  }

  /// Computes the states of the derived group (TokenGroup::derived) for each text, a segment of the group it derives
  /// from: `states` has [texts][tokens][hidden] numbers. score() takes them in the text's place and gives the same
  /// bits; so it does with the states of all tokens of each text, a segment of kDocument, behind the layers that it
  /// passes through apart from the query (Plan::layers_apart()). For late interaction (Head::per_token) the texts are
  /// segments of kDocument, and `states` has the vectors of all their tokens, one text after another, or
  /// (Head::per_text) one vector per text. Throws Error as score() does; `unsupported` for other descriptions.
  virtual void encode(std::span<const Segment> texts, std::span<float> states, const StopSignal& stop = {}) const = 0;

  /// The states of the batch's only candidate or document.
  virtual HiddenStates hidden_states(const ScoringBatch& batch) const = 0;
};

/// Creates the backend that `options` selects and converts the weights to its own form; the views may be released
/// afterwards. Throws Error: `usage` for an unknown device or instruction set, `device` for an absent one,
/// `unsupported` for a description or precision the backend cannot run, `invalid_data` for shapes that do not match.
RELUCENT_API std::unique_ptr<Backend> create_backend(const EncoderDescription& description,
                                                     const EncoderWeights& weights, const BackendOptions& options);

/// One line for people: "cpu (amx, bf16, 2 threads)", "cuda:0 (NVIDIA H100 80GB HBM3, sm_90, fp16)".
RELUCENT_API std::string describe(const BackendInfo& info);

}  // namespace relucent
