// Encoders that score documents, whose passages exchange pivots after each block. Host code.
#pragma once

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {

class Exchange final : public Encoder, private ChunkWork {
 public:
  Exchange(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  ChunkSize room_for(std::size_t rows) const override;
  WorkspaceBytes bytes_of(const ChunkSize& room) const override { return core_.bytes_of(*this, room); }
  void warm_up(Workspace& w) const override;
  std::vector<std::string> algorithms() const override { return core_.algorithms(); }
  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    core_.score(*this, batch, logits, borrowed, stop, cost);
  }

 private:
  struct PivotLayer {
    Core::Layer layer;
    std::unique_ptr<Matmul> combine;  ///< null: tokens stay as they are
  };
  /// In the memory of `wide`: what the pivots' layer needs; both [tokens, 2 * hidden]: the pivots' tokens, each
  /// followed by its pivot; combined [tokens, hidden]; and the logits.
  struct PivotPlaces {
    PivotPlaces(const Exchange& e, std::byte* base, const ChunkSize& size);

    Core::Places layer;
    std::byte *both, *combined, *end;
    float* logits;
  };

  std::size_t activation_bytes(const ChunkSize& size) const override;
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;
  /// What follows a block of tokens, and the head that reads the last one's pivots.
  void exchange(const PivotLayer& layer, const Chunk& chunk, Workspace& w, const Core::Places& places) const;
  void score_pivots(const Chunk& chunk, Workspace& w, const Core::Places& places) const;

  Core core_;
  const int device_ = core_.device(), hidden_ = core_.hidden();
  const Element element_ = core_.element();
  std::vector<PivotLayer> pivot_layers_;  // one per layer
  PivotHeadWork head_{};
};

}  // namespace relucent::cuda
