// Cross-encoders of one stack: [CLS], query and document pass through the same layers, each candidate's by themselves
// or a set's together. Host code.
#pragma once

#include <array>

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {

class PairEncoder final : public Encoder, private ChunkWork {
 public:
  PairEncoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  ChunkSize room_for(std::size_t rows) const override { return core_.room_for(rows); }
  WorkspaceBytes bytes_of(const ChunkSize& room) const override { return core_.bytes_of(*this, room); }
  void warm_up(Workspace& w) const override { core_.compute(*this, Core::smallest_batch(), w); }
  std::vector<std::string> algorithms() const override { return core_.algorithms(); }
  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    core_.score(*this, batch, logits, borrowed, stop, cost);
  }
  HiddenStates hidden_states(const ScoringBatch& batch, Workspace& w) const override;

 private:
  /// The last layer for [CLS] alone: W_K is applied to the queries, W_V and b_V after the sums. Null unless
  /// last_is_short_.
  struct LastLayer {
    std::unique_ptr<Matmul> query, absorbed_key, value, attention_output, intermediate, output;
  };
  /// Its matrices and the head's, in the memory of `wide`. All but `partial` have one row per sequence.
  struct LastPlaces {
    LastPlaces(const PairEncoder& e, std::byte* base, const ChunkSize& size);

    std::byte *query, *absorbed, *mixed, *context, *wide, *y, *steps[2], *end;
    float *partial, *pooled, *residual, *logits;
  };

  /// One step of the head, or, as the last one, what comes before its output rows.
  struct HeadStep {
    int size = 0;                                       // of its result
    std::unique_ptr<Matmul> dense = {}, residual = {};  // null: none
    HeadStepWork work = {};
  };

  void make_last_layer(const PackedWeights& weights);
  void make_head(const EncoderDescription& description, const PackedWeights& weights);
  std::size_t activation_bytes(const ChunkSize& size) const override;
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;
  void last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const;
  /// The head on the states of a chunk whose layers are computed.
  void finish(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const;

  Core core_;
  const int device_ = core_.device(), hidden_ = core_.hidden();
  const int heads_ = core_.heads(), head_size_ = core_.head_size();
  const Element element_ = core_.element();
  bool last_is_short_;
  std::array<bool, 4> head_groups_;  // whose mean the head takes
  bool pools_first_ = false;         // of kQuery: its first token, where [CLS] is if another token has its row
  LastLayer last_;
  std::vector<HeadStep> head_steps_;    // all but those that head_ computes
  std::unique_ptr<Matmul> last_dense_;  // before head_; null: none
  HeadWork head_;
  std::size_t logit_bytes_;                                 // of a candidate
  int last_size_ = hidden_, most_head_features_ = hidden_;  // what head_ takes; the most of any step
};

}  // namespace relucent::cuda
