// Encoders of candidates apart from the query: few states stand for a candidate's text and interact with the query.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/cpu/encoders/core.h"
#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {

/// A text passes through the first stack by itself, and its context derives from its states. The second stack takes
/// many candidates' contexts and gated tokens: 2 H^2 (12 k + 13) operations per layer, candidate and k states.
class Interaction final : public Encoder {
 public:
  explicit Interaction(const EncoderSource& source);

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override;
  void encode(std::span<const Segment> texts, std::span<float> states, Team& everybody,
              const StopSignal& stop) const override;

 private:
  /// A layer in which the context of a candidate and its gated token see the query.
  struct Meeting {
    std::size_t keys_of;  // layer of the first stack
    PackedLinear heads;   // of the context, as in Layer
    PackedLinear gated_query;
    // Weights for the hint (with the bias), the attention's result and the token so far. Layers may share it.
    std::shared_ptr<const std::array<PackedLinear, 3>> gate;
    Pooling hint;
    Core::AfterHeads after;
  };
  struct Memory : OneToken::Tokens {                              // of a worker
    Buffer<float> rows;                                           // [hidden][stride]: a text's states
    Buffer<float> contexts, queries, hint, result, before, gate;  // activations
  };

  /// The context that derives from a sequence of a group whose activation is x: [tokens][hidden].
  void derive(const Group& group, const Sequence& sequence, const float* x, float* context, Workspace& own) const;
  /// The number of candidates, of `count`, whose interaction one worker should compute at a time.
  std::size_t candidates_together(std::size_t count, std::size_t workers) const;
  /// Writes the head's logits of some candidates: `pooled` are their pooled contexts and `gated` their gated tokens, in
  /// x from the place `first` on.
  void head(const QueryStates& query, const float* pooled, const float* x, std::size_t first, std::span<float> logits,
            Workspace& own) const;
  /// Writes the logits of candidates, given their contexts, to a query.
  void interact(const QueryStates& query, std::span<const float* const> contexts, std::span<float> logits,
                Workspace& own, const StopSignal& stop) const;
  /// The heads' output, [heads * head size] of `context`: of the context's tokens, which are the operand, and of the
  /// gated tokens, whose queries are an activation. Each takes `block` vectors per token.
  void attend_query(const Meeting& layer, const QueryStates& query, const OperandOut& tokens,
                    const float* gated_queries, std::size_t block, float* context, Workspace& own) const;
  /// Numbers in the context of one text.
  std::size_t context_size() const noexcept { return context_tokens_ * hidden_; }

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden(), head_size_ = core_.head_size();
  std::vector<Meeting> meetings_;  // the layers of the second stack
  std::size_t context_tokens_;
  std::vector<float> codes_;          // [hidden][context tokens]; empty: the first tokens
  std::optional<OneToken> compared_;  // what a head that compares makes of its operands
};

}  // namespace relucent::cpu
