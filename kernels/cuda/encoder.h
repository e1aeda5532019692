// The encoder on one device: its weights, its products, and the sequence of kernels for a chunk. Host code; callers
// make the device current on their thread first.
#pragma once

#include <array>
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

/// What belongs to one chunk from its start to its end: its tables, its results and its clock.
class ChunkBuffers {
 public:
  ChunkBuffers(int device, const ChunkSize& room);

  PinnedMemory tables_on_host;
  DeviceMemory tables;
  PinnedMemory results;  ///< fp32 [sequences]
  Clock clock;
};

/// Memory for the chunks of one search, and the stream they run on, one after another. There are two sets of buffers:
/// the host writes a chunk's tables while the device computes the chunk before. One thread at a time.
class Workspace {
 public:
  /// With room for chunks up to `room`, whose activations take `activation_bytes` of device memory. `product_bytes`:
  /// MatmulLibrary::workspace_bytes().
  Workspace(int device, const ChunkSize& room, std::size_t activation_bytes, std::size_t product_bytes);

  const ChunkSize room;
  Stream stream;
  DeviceMemory activations, products;
  std::array<ChunkBuffers, 2> buffers;
  std::size_t turn = 0;  ///< the buffers of the chunk to be started

  ChunkBuffers& now() noexcept { return buffers[turn]; }
};

class Encoder {
 public:
  /// Copies the weights to `device`. Throws Error `device`.
  Encoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  const ChunkShape& shape() const noexcept { return shape_; }
  const MatmulLibrary& products() const noexcept { return library_; }
  /// Bytes of device memory for a chunk's activations.
  std::size_t activation_bytes(const ChunkSize& size) const;
  std::unique_ptr<Workspace> make_workspace(const ChunkSize& room) const;

  /// Writes the chunk's tables into `w.now()`; the work started with these buffers must have ended.
  void prepare(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;
  /// Starts computing the logits of a prepared chunk and does not wait. After the clock's wait() they are in
  /// `w.now().results`.
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;

  /// Computes all hidden states of one pair and waits for them.
  HiddenStates hidden_states(const PairBatch& pair, Workspace& w) const;

 private:
  struct Layer {
    std::unique_ptr<Matmul> qkv, attention_output, intermediate, output;
    Norm attention_norm, output_norm;
    const float* turns;  // rotary positions; null: none
    Pattern pattern;
    bool norm_before;  // the attention's, not only the feed-forward's
    Activation activation;
    bool gated;
  };
  /// The last layer for [CLS] alone: W_K is applied to the queries, W_V and b_V after the sums. Null unless
  /// last_is_short_.
  struct LastLayer {
    std::unique_ptr<Matmul> query, absorbed_key, value, attention_output, intermediate, output;
  };
  /// Addresses of a chunk's matrices in the workspace's activations.
  struct Places;
  struct LastPlaces;

  const void* at(std::size_t offset) const { return offset == kAbsent ? nullptr : weights_.data() + offset; }
  const float* floats_at(std::size_t offset) const { return reinterpret_cast<const float*>(at(offset)); }
  Norm norm_at(const PackedNorm& norm) const;
  MatmulForm form(int out, int in, std::size_t weight) const;
  static void run(const Matmul& product, const void* x, void* y, int rows, Workspace& w);
  std::unique_ptr<Matmul> linear(int out, int in, const PackedLinear& from, int usual_rows = MatmulForm().usual_rows);
  /// The feed-forward's products, with what cublasLt computes of the activation.
  std::unique_ptr<Matmul> intermediate(const Layer& layer, const PackedLinear& from,
                                       int usual_rows = MatmulForm().usual_rows);
  std::unique_ptr<Matmul> output(const Layer& layer, const PackedLinear& from,
                                 int usual_rows = MatmulForm().usual_rows);
  /// Whether the product itself computes the activation: cublasLt's GELU is the tanh approximation, off by up to 5e-4.
  bool fused(const Layer& layer) const;

  void make_last_layer(const PackedWeights& weights);
  void embed(const Chunk& chunk, Workspace& w, const Places& places) const;
  /// `cls_alone`: computes only [CLS] after the keys and values.
  void block(const Layer& layer, const PairBatch& batch, const Chunk& chunk, bool cls_alone, Workspace& w,
             const Places& places) const;
  /// x = LN(x + y), or, if norms come before the sub-blocks, x += y and normed = LN(x).
  void norm(const Norm& norm, const void* y, int rows, const Places& places, Workspace& w) const;
  void feed_forward(const Layer& layer, const Matmul& intermediate, const Matmul& output, const Places& places,
                    void* wide, void* y, int rows, Workspace& w) const;
  void last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Places& places) const;
  /// The head on the states of a chunk whose layers are computed.
  void finish(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Places& places) const;
  void head(const void* states, float* pooled, float* logits, int rows, Workspace& w) const;

  PairForm pairs_;
  int device_;
  float norm_epsilon_;
  int hidden_, embedding_, heads_, head_size_, intermediate_, wide_;  ///< wide_: intermediate features with their gates
  Element element_;
  bool tf32_;
  bool norms_before_;                // the sub-blocks
  bool last_is_short_;               // see LastLayer
  std::array<bool, 4> head_groups_;  // whose mean the head takes
  ChunkShape shape_;
  DeviceMemory weights_;
  MatmulLibrary library_;
  EmbeddingTables tables_;
  Norm embedding_norm_, first_norm_;
  std::vector<Layer> layers_;
  LastLayer last_;
  std::unique_ptr<Matmul> embedding_projection_, head_dense_;  // null: none
  HeadWork head_;
};

}  // namespace relucent::cuda
