// Cross-encoders of one stack: [CLS], query and document pass through the same layers.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {

/// If the last block need compute only [CLS], it does so by OneToken's attention, for the candidates of all groups
/// together behind the heads. Where the first blocks see one text alone, each text passes through them by itself, the
/// query once for all candidates, and a document perhaps before any query.
class PairEncoder final : public Encoder, private AfterStack {
 public:
  explicit PairEncoder(const EncoderSource& source);

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override {
    score_candidates(core_, passes_, *this, batch, logits, everybody, stop);
  }
  void encode(std::span<const Segment> texts, std::span<float> states, Team& everybody,
              const StopSignal& stop) const override;
  HiddenStates hidden_states(const ScoringBatch& batch, Workspace& workspace) const override;

 private:
  struct Kept : OneToken::Tokens {
    /// One row per candidate of the call. If the last block computes only [CLS]: its input to that block and then its
    /// context there, [2 hidden]. Otherwise: the state that the head takes.
    std::vector<float> states;
    Buffer<float> rows;  // of a worker: one sequence's [hidden][tokens]
  };

  void prepare(std::size_t candidates, Workspace& call) const override;
  void keep(const Group& group, const QueryStates* shared, std::size_t first, Workspace& call,
            Team& team) const override;
  void finish(const Segment& token, const QueryStates* shared, std::size_t first, std::span<float> logits,
              Workspace& call, Workspace& own) const override;
  /// The last block's attention for the [CLS] tokens of some sequences of a group whose activation is x, to `states`.
  void attend_last(const Group& group, std::span<const Sequence> sequences, const float* x, const QueryStates* shared,
                   float* states, Workspace& own) const;

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden();
  OneToken token_;
  Passes passes_;
  bool last_is_short_;  // the last block computes only [CLS]
  OneToken::Heads last_;
  std::optional<Core::AfterHeads> after_last_;  // unless the last layer's are used
};

}  // namespace relucent::cpu
