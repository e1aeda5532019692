// Encoders of sets: candidates that see each other through one token each.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {

/// All candidates of a batch pass through a layer together, in the memory of one group.
class CandidateSets final : public Encoder {
 public:
  explicit CandidateSets(const EncoderSource& source);

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override;

 private:
  struct Kept : OneToken::Tokens {
    // The states of the tokens that every candidate sees; their queries, keys and values, and these as rows.
    Buffer<float> states, projected, rows;
  };

  void block(const Core::Layer& layer, const Group& group, Team& team) const;
  void attend(const Group& group, const Core::Chunk& chunk, const Core::HeadRows& of, const Keys& seen,
              Workspace& own) const;

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden();
  OneToken token_;
};

}  // namespace relucent::cpu
