// The encoder on one device: its weights, its products, and the order in which a chunk goes through the kernels.
// Host code; every call has the device as the thread's current one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/chunk.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/weights.h"
#include "relucent/kernels/backend.h"

namespace relucent::cuda {

/// Memory for one chunk at a time, and the stream it runs on. One thread at a time.
class Workspace {
 public:
  /// With room for `room`, in `bytes` of device memory behind the tables.
  Workspace(int device, const ChunkSize& room, std::size_t activation_bytes);

  const ChunkSize room;
  Stream stream;
  PinnedMemory tables_on_host;
  DeviceMemory tables, activations;
  PinnedMemory results;  ///< fp32 [sequences], or hidden states
};

class Encoder {
 public:
  /// Copies the weights to `device`. Throws Error `device`.
  Encoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  const ChunkShape& shape() const noexcept { return shape_; }
  /// Device memory that a chunk's activations take.
  std::size_t activation_bytes(const ChunkSize& size) const;
  std::unique_ptr<Workspace> make_workspace(const ChunkSize& room) const;

  /// Writes the chunk's tables into the workspace's pinned memory; what was started in it before must be done.
  void prepare(const ScoringBatch& batch, const Chunk& chunk, Workspace& w) const;
  /// Starts computing the logits of a prepared chunk; they are in results once the stream is waited for. Nothing waits.
  void start(const ScoringBatch& batch, const Chunk& chunk, Workspace& w) const;

  /// One pair with nothing left out. Waits.
  HiddenStates hidden_states(const ScoringBatch& pair, Workspace& w) const;

 private:
  struct Layer {
    std::unique_ptr<Matmul> qkv, attention_output, intermediate, output;
    Norm attention_norm, output_norm;
    Pattern pattern;
  };
  /// The last layer for [CLS] alone: W_K on the queries' side, W_V and b_V behind the sums.
  struct LastLayer {
    std::unique_ptr<Matmul> query, absorbed_key, value, attention_output;
  };
  /// Where a chunk's matrices stand in the workspace's activations.
  struct Places;
  struct LastPlaces;

  const void* at(std::size_t offset) const { return weights_.data() + offset; }
  const float* floats_at(std::size_t offset) const { return reinterpret_cast<const float*>(at(offset)); }
  Norm norm_at(const PackedNorm& norm) const;
  MatmulForm form(int out, int in, std::size_t weight) const;
  std::unique_ptr<Matmul> linear(int out, int in, std::size_t weight, std::size_t bias, bool gelu = false) const;

  void embed(const Chunk& chunk, Workspace& w, const Places& places) const;
  void block(const Layer& layer, const ScoringBatch& batch, const Chunk& chunk, Workspace& w,
             const Places& places) const;
  void feed_forward(const Layer& layer, void* x, void* wide, void* y, int rows, Workspace& w) const;
  void last_block(const ScoringBatch& batch, const Chunk& chunk, Workspace& w, const Places& places) const;
  void head(const void* cls, float* pooled, float* logits, int rows, Workspace& w) const;

  EncoderDescription description_;
  int device_, hidden_, heads_, head_size_, intermediate_;
  Element element_;
  bool tf32_;
  ChunkShape shape_;
  DeviceMemory weights_;
  MatmulLibrary library_;
  EmbeddingTables tables_;
  Norm embedding_norm_;
  std::vector<Layer> layers_;
  LastLayer last_;
  std::unique_ptr<Matmul> pooler_;
  const float *pooler_bias_, *classifier_, *classifier_bias_;
};

}  // namespace relucent::cuda
