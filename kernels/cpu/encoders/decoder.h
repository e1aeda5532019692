// Encoders with a decoder of one token: query and document pass through one stack, the token through a second one.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {

/// The token's own attention has one key, and so is its value. Per layer and head it reads each state of the first
/// stack twice.
class Decoder final : public Encoder, private AfterStack {
 public:
  explicit Decoder(const EncoderSource& source);

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override {
    score_candidates(core_, passes_, *this, batch, logits, everybody, stop);
  }

 private:
  struct Step {
    Core::NormParameters own_norm;
    PackedLinear own_value, own_output;
    Core::NormParameters norm;
    OneToken::Heads heads;
    Core::AfterHeads after;
    bool sees_query = true, sees_document = true;
  };
  /// A candidate's states behind the first stack, [hidden][stride]; the first `query` tokens are the query's.
  struct States {
    std::size_t tokens = 0, stride = 0, query = 0;
    Buffer<float> rows;
  };
  struct Kept : OneToken::Tokens {
    std::vector<States> states;  // of a call
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
  std::vector<Step> steps_;  // one per layer
  Core::NormParameters last_norm_;
};

}  // namespace relucent::cpu
