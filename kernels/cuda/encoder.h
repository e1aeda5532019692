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

/// The bytes of a workspace.
struct WorkspaceBytes {
  std::size_t activations, products;    ///< on the device; products: MatmulLibrary::workspace_bytes()
  std::size_t tables, states, results;  ///< of a chunk; states and results are in pinned memory
};

/// What belongs to one chunk from its start to its end: its tables, its results and its clock.
class ChunkBuffers {
 public:
  ChunkBuffers(int device, const WorkspaceBytes& bytes);

  PinnedMemory tables_on_host;
  DeviceMemory tables;
  PinnedMemory states;   ///< of an interaction: elements [candidates * (1 + context), hidden]
  PinnedMemory results;  ///< fp32 [sequences], or elements [texts, context, hidden]
  Clock clock;
};

/// Memory for the chunks of one search, and the stream they run on, one after another. There are two sets of buffers:
/// the host writes a chunk's tables while the device computes the chunk before. One thread at a time.
class Workspace {
 public:
  /// With room for chunks up to `room`, which takes `bytes`.
  Workspace(int device, const ChunkSize& room, const WorkspaceBytes& bytes);

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
  bool has_exchanges() const noexcept { return !exchanges_.empty(); }
  /// For an encoder with interaction: the tokens and the numbers of a candidate's context, and the size of its
  /// interaction.
  std::size_t context_tokens() const noexcept { return as_size(context_tokens_); }
  std::size_t context_size() const noexcept { return context_tokens() * as_size(hidden_); }
  ChunkSize interaction_size(std::size_t candidates, std::size_t query_tokens) const {
    return size_of_interaction(candidates, context_tokens(), query_tokens);
  }
  const MatmulLibrary& products() const noexcept { return library_; }
  /// Bytes of device memory for a chunk's activations.
  std::size_t activation_bytes(const ChunkSize& size) const;
  /// With its tables.
  std::size_t bytes(const ChunkSize& size) const { return activation_bytes(size) + table_bytes(size); }
  std::unique_ptr<Workspace> make_workspace(const ChunkSize& room) const;

  /// Writes the chunk's tables into `w.now()`; the work started with these buffers must have ended.
  void prepare(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;
  /// Starts computing the logits of a prepared chunk and does not wait. After the clock's wait() they are in
  /// `w.now().results`.
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;

  /// With interaction. The same for a prepared chunk of texts: contexts instead of logits, which read_contexts() reads.
  void start_texts(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;
  void read_contexts(const ChunkBuffers& buffers, std::size_t texts, float* contexts) const;
  /// The same for a prepared chunk of the query alone, whose keys stay in the workspace for the interaction.
  void start_query(const PairBatch& batch, const Chunk& chunk, Workspace& w) const;
  /// Candidates that start_interaction() takes at most.
  std::size_t most_candidates(const ChunkSize& room, std::size_t query_tokens) const;
  /// Starts computing the logits of candidates that have these contexts; the query's keys must be in the workspace.
  void start_interaction(std::span<const float* const> contexts, std::size_t query_tokens, Workspace& w) const;

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
  /// With interaction.
  struct InteractionLayer {
    Layer layer;
    std::size_t keys_of;  ///< layer of the query
    std::unique_ptr<Matmul> gated_query, gated_output, gate;
    Pooling hint;
  };
  struct ExchangeLayer {
    Layer layer;
    std::unique_ptr<Matmul> combine;  ///< null: tokens stay as they are
  };
  /// Addresses of a chunk's matrices in the workspace's activations.
  struct Places;
  struct LastPlaces;
  struct InteractionPlaces;
  struct PivotPlaces;

  std::size_t table_bytes(const ChunkSize& size) const;
  static std::size_t as_size(int value) { return static_cast<std::size_t>(value); }
  std::size_t row_bytes() const { return as_size(hidden_) * size_of(element_); }

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

  Layer make_layer(const relucent::Layer& described, const PackedLayer& from);
  void make_last_layer(const PackedWeights& weights);
  void make_interaction(const EncoderDescription& description, const PackedWeights& weights);
  void make_exchanges(const EncoderDescription& description, const PackedWeights& weights);
  template <typename T>
  const T* table(Workspace& w, std::size_t offset) const {
    return reinterpret_cast<const T*>(w.now().tables.data() + offset);
  }
  void embed(const Chunk& chunk, Workspace& w, const Places& places) const;
  /// The attention of a chunk's tiles.
  AttentionWork attention_of(const PairBatch& batch, const Chunk& chunk, const Layer& layer, Workspace& w) const;
  /// A block on `all` rows, whose queries, keys and values are computed; and the rest of it for the first `rows`, which
  /// the tiles of `work` must cover.
  void block(const Layer& layer, const AttentionWork& work, int all, int rows, Workspace& w,
             const Places& places) const;
  void project(const Layer& layer, const AttentionWork& work, int rows, Workspace& w, const Places& places) const;
  void after_projection(const Layer& layer, const AttentionWork& work, int rows, Workspace& w,
                        const Places& places) const;
  /// What follows a block of tokens in an encoder with exchanges, and the head that reads the last one's pivots.
  void exchange(const ExchangeLayer& layer, const Chunk& chunk, Workspace& w, const Places& places) const;
  void score_pivots(const Chunk& chunk, Workspace& w, const Places& places) const;
  ContextPool pool_of(Pooling pooling, int candidates) const;
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
  std::vector<ExchangeLayer> exchanges_;       // one per layer, or none
  PivotHeadWork pivot_head_{};                 // with exchanges
  std::vector<InteractionLayer> interaction_;  // with interaction
  int context_tokens_ = 0;                     // the same
  int longest_;                                // input
  Pooling head_pooling_;
  const float* codes_ = nullptr;
};

}  // namespace relucent::cuda
