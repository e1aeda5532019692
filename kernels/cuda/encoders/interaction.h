// Encoders of candidates apart from the query: few states stand for a candidate's text and interact with the query.
// Host code.
#pragma once

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {

/// Chunks are of texts, of the query, whose keys stay in the workspace, or of contexts that meet them.
class Interaction final : public ChunkEncoder {
 public:
  explicit Interaction(const EncoderSource& source);

  ChunkSize room_for(std::size_t rows) const override;
  WorkspaceBytes bytes_of(const ChunkSize& room) const override;
  void warm_up(Workspace& w) const override;
  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override;
  void encode(std::span<const relucent::Segment> texts, std::span<float> states, BorrowedWorkspace& borrowed,
              const StopSignal& stop, DeviceCost& cost) const override;

 private:
  /// A layer in which contexts and gated tokens see the query.
  struct Meeting {
    Core::Layer layer;
    std::size_t keys_of;  ///< layer of the query
    std::unique_ptr<Matmul> gated_query, gated_output, gate;
    Pooling hint;
  };
  /// contexts [texts, context, hidden] in the memory of `wide`; behind everything else gate_input [candidates, 3 *
  /// hidden], where also the features are that a head compares, gate [candidates, hidden], what the head makes of the
  /// features, fp32 [candidates, 3 * hidden], and the logits.
  struct MeetingPlaces {
    MeetingPlaces(const Interaction& e, const Core::Places& places, const ChunkSize& size);

    std::byte *contexts, *gate_input, *gate, *end;
    float *compared, *logits;
  };

  /// The tokens and the numbers of a candidate's context.
  std::size_t context_tokens() const noexcept { return as_size(context_tokens_); }
  std::size_t context_size() const noexcept { return context_tokens() * as_size(hidden_); }
  ChunkSize size_of_meeting(std::size_t candidates, std::size_t query_tokens) const {
    return size_of_interaction(candidates, context_tokens(), query_tokens);
  }
  /// The size of the query's keys, at the start of the activations: [meetings, longest query, 3 * hidden].
  std::size_t key_bytes() const;
  /// That, and the query's first token behind it, if the head takes it: [hidden].
  std::size_t kept_bytes() const { return key_bytes() + aligned(core_.row_bytes()); }
  std::size_t activation_bytes(const ChunkSize& size) const override;

  void encode_texts(std::span<const relucent::Segment> texts, std::span<float> contexts, Workspace& w,
                    const StopSignal& stop, DeviceCost& cost) const;
  /// Scores candidates that have these contexts.
  void interact(const relucent::Segment& query, std::span<const float* const> contexts, std::span<float> logits,
                Workspace& w, const StopSignal& stop, DeviceCost& cost) const;
  /// Starts computing the contexts of texts.
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;
  /// Starts computing the query's keys.
  void start_query(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;
  /// Starts computing the logits of candidates that have these contexts; the query's keys must be in the workspace.
  void start_meeting(std::span<const float* const> contexts, std::size_t query_tokens, Workspace& w) const;
  /// The head on the states after the last meeting.
  void start_head(std::span<const std::byte> contexts, int candidates, Workspace& w, const Core::Places& places,
                  const MeetingPlaces& mix) const;
  ContextPool pool_of(Pooling pooling, int candidates) const;

  std::vector<Meeting> meetings_;
  int context_tokens_;
  const float* codes_;
  std::unique_ptr<Matmul> compared_;  // null: the head multiplies
  HeadWork head_{};                   // of a head that compares
  std::size_t logit_bytes_;           // of a candidate
};

}  // namespace relucent::cuda
