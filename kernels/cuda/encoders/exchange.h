// Encoders that score documents, whose passages exchange pivots after each block. Host code.
#pragma once

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {

class Exchange final : public Core {
 public:
  Exchange(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  void warm_up(Workspace& w) const override;

 private:
  struct PivotLayer {
    Layer layer;
    std::unique_ptr<Matmul> combine;  ///< null: tokens stay as they are
  };
  /// In the memory of `wide`: what the pivots' layer needs; both [tokens, 2 * hidden]: the pivots' tokens, each
  /// followed by its pivot; combined [tokens, hidden]; and the logits.
  struct PivotPlaces {
    PivotPlaces(const Exchange& e, std::byte* base, const ChunkSize& size);

    Places layer;
    std::byte *both, *combined, *end;
    float* logits;
  };

  ChunkSize room_for(std::size_t rows) const override;
  std::size_t activation_bytes(const ChunkSize& size) const override;
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;
  /// What follows a block of tokens, and the head that reads the last one's pivots.
  void exchange(const PivotLayer& layer, const Chunk& chunk, Workspace& w, const Places& places) const;
  void score_pivots(const Chunk& chunk, Workspace& w, const Places& places) const;

  std::vector<PivotLayer> pivot_layers_;  // one per layer
  PivotHeadWork head_{};
};

}  // namespace relucent::cuda
