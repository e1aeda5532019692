// Encoders of late interaction: texts by themselves, of which each token gives a vector, or all tokens together one.
// Host code.
#pragma once

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {

class Texts final : public Encoder, private ChunkWork {
 public:
  Texts(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  ChunkSize room_for(std::size_t rows) const override { return core_.room_for(rows); }
  WorkspaceBytes bytes_of(const ChunkSize& room) const override;
  void warm_up(Workspace& w) const override;
  std::vector<std::string> algorithms() const override { return core_.algorithms(); }
  void encode(std::span<const relucent::Segment> texts, std::span<float> vectors, BorrowedWorkspace& borrowed,
              const StopSignal& stop, DeviceCost& cost) const override;

 private:
  /// In the memory of `wide`: fp32 [rows, size_], or elements [texts, size_].
  std::size_t vector_bytes(const ChunkSize& size) const {
    return as_size(size_) * (pools_ ? size.sequences * size_of(core_.element()) : size.rows * sizeof(float));
  }
  std::size_t activation_bytes(const ChunkSize& size) const override;
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override;

  Core core_;
  bool pools_;
  int size_;                            // of a vector
  std::unique_ptr<Matmul> projection_;  // unless pools_
  const float* bias_ = nullptr;
};

}  // namespace relucent::cuda
