// Cross-encoders of one stack: [CLS], query and document pass through the same layers, each candidate's by themselves
// or a set's together. Host code.
#pragma once

#include <array>
#include <optional>

#include "kernels/cuda/encoders/one_token.h"

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
  /// The last layer for [CLS] alone; its products of many rows have twins for few.
  struct LastLayer {
    OneToken attention;
    std::unique_ptr<Matmul> intermediate, output;
  };
  /// Its matrices, one row per sequence, and the head's, in the memory of `wide`.
  struct LastPlaces {
    LastPlaces(const PairEncoder& e, std::byte* base, const ChunkSize& size);

    std::byte *attention, *wide, *y, *head, *end;
  };

  std::size_t activation_bytes(const ChunkSize& size) const override;
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;
  void last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const;
  /// The head on the states of a chunk whose layers are computed.
  void finish(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const;

  Core core_;
  const int device_ = core_.device(), hidden_ = core_.hidden();
  const Element element_ = core_.element();
  std::array<bool, 4> head_groups_;  // whose mean the head takes
  bool pools_first_ = false;         // of kQuery: its first token, where [CLS] is if another token has its row
  std::optional<LastLayer> last_;    // if only [CLS] is needed of it
  TokenHead head_;
};

}  // namespace relucent::cuda
