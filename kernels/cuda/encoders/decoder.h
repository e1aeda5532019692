// Encoders with a decoder of one token: query and document pass through one stack, the token through a second one. Host
// code.
#pragma once

#include <vector>

#include "kernels/cuda/encoders/one_token.h"

namespace relucent::cuda {

/// The token's own attention has one key, and so is its value. In each layer it reads the states of the first stack
/// twice. Residuals are fp32 in every precision.
class Decoder final : public Encoder, private ChunkWork {
 public:
  Decoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  ChunkSize room_for(std::size_t rows) const override { return core_.room_for(rows); }
  WorkspaceBytes bytes_of(const ChunkSize& room) const override { return core_.bytes_of(*this, room); }
  void warm_up(Workspace& w) const override { core_.compute(*this, Core::smallest_batch(), w); }
  std::vector<std::string> algorithms() const override { return core_.algorithms(); }
  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    core_.score(*this, batch, logits, borrowed, stop, cost);
  }

 private:
  struct Step {
    std::unique_ptr<Matmul> own_value, own_output;
    const void* own_bias;  // of own_output; null: it adds it
    Norm norm;
    OneToken cross;
    const void* cross_bias;
    Core::Layer feed_forward;  // with the norms before it and before what follows
  };
  /// The token's matrices, one row per sequence, and the head's, in the memory of `wide`. `attention`: of either one.
  struct StepPlaces {
    StepPlaces(const Decoder& e, std::byte* base, const ChunkSize& size);

    std::byte *normed, *attention, *wide, *y, *head, *end;
  };

  std::size_t activation_bytes(const ChunkSize& size) const override;
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;

  Core core_;
  Norm first_norm_;
  std::vector<Step> steps_;  // one per layer
  TokenHead head_;
};

}  // namespace relucent::cuda
