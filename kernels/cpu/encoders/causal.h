// Decoders alone: query and document pass through one stack, each token seeing only those before it.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {

/// The query's keys and values are computed once for all candidates; the head reads a candidate's last token.
class Causal final : public Encoder, private AfterStack {
 public:
  explicit Causal(const EncoderSource& source);

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override {
    score_candidates(core_, passes_, *this, batch, logits, everybody, stop);
  }

 private:
  struct Kept : OneToken::Tokens {
    std::vector<float> states;  // of a call: the last tokens', [candidates][hidden]
  };

  void prepare(std::size_t candidates, Workspace& call) const override;
  void keep(const Group& group, const QueryStates* shared, std::size_t first, Workspace& call,
            Team& team) const override;
  void finish(const Segment& token, const QueryStates* shared, std::size_t first, std::span<float> logits,
              Workspace& call, Workspace& own) const override;

  Core core_;
  const std::size_t hidden_ = core_.hidden();
  OneToken token_;
  Passes passes_;
};

}  // namespace relucent::cpu
