// The core of every encoder on a device: embeddings, attention, and what follows it. Host code.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/encoders/encoder.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matmul.h"
#include "kernels/pair_form.h"

namespace relucent::cuda {

inline std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
inline std::int32_t as_int(std::size_t value) { return static_cast<std::int32_t>(value); }
inline std::size_t as_size(int value) { return static_cast<std::size_t>(value); }

/// What an encoder does with a chunk.
class ChunkWork {
 public:
  /// Bytes of device memory for a chunk's activations.
  virtual std::size_t activation_bytes(const ChunkSize& size) const = 0;
  /// Starts computing a chunk, whose tables are written, and does not wait. After the clock's wait() its results are in
  /// `w.now().results`.
  virtual void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const = 0;

 protected:
  ~ChunkWork() = default;
};

/// The layers of the first stack with the embeddings before them, for chunks of candidates, and the products and norms
/// of which encoders make layers of their own. Every encoder owns one. Immutable once the encoder is made.
class Core {
 public:
  struct Layer {
    std::unique_ptr<Matmul> qkv, attention_output, intermediate, output;
    const void *attention_bias, *output_bias;  // of the products, unless they add it; see Core::added()
    Norm attention_norm, output_norm;
    const float* turns;     // rotary positions; null: none
    RelativeWork relative;  // biases by distance; no other terms
    /// Disentangled attention: products of queries, and of keys, with relative positions; null: none.
    std::unique_ptr<Matmul> query_positions, key_positions;
    /// What follows the layer; null: nothing.
    std::unique_ptr<Matmul> convolution;
    int taps;
    Activation convolution_activation;
    Norm convolution_norm;
    Pattern pattern;
    bool norm_before;  // the attention's, not only the feed-forward's
    Activation activation;
    bool gated;
  };
  /// Addresses of a chunk's matrices in the memory of activations. x [rows, hidden]: the activations that each layer
  /// updates; wide: query, key, value [rows, 3 * width] followed by the context [rows, width], or the intermediate
  /// [rows, wide], or embeddings before their projection [rows, embedding]; y [rows, hidden]: what a kernel adds to x;
  /// normed [rows, hidden]: the sub-blocks' input if norms come before them, otherwise x itself; query_positions and
  /// key_positions [rows, heads, buckets] of disentangled attention; taps [rows, size, hidden] of a convolution.
  struct Places {
    Places(const Core& e, std::byte* base, std::size_t rows);

    std::byte *x, *normed, *wide, *context, *y, *query_positions, *key_positions, *taps, *end;
  };

  Core(const EncoderSource& source, ChunkShape shape);

  const EncoderDescription& description() const { return description_; }
  int device() const { return device_; }
  int hidden() const { return hidden_; }
  int heads() const { return heads_; }
  int head_size() const { return head_size_; }
  int width() const { return heads_ * head_size_; }
  float scale() const { return scale_; }  ///< of the products of queries and keys
  int wide() const { return wide_; }      ///< intermediate features with their gates
  Element element() const { return element_; }
  /// The type of x and y: fp32 in an encoder with a decoder, whose residuals outgrow fp16.
  Element sums() const { return sums_; }
  const ChunkShape& shape() const { return shape_; }
  std::size_t longest() const { return longest_; }  ///< input
  const std::vector<Layer>& layers() const { return layers_; }

  // Batches (core.cpp).

  /// The batch's input, checked.
  PairBatch pairs_of(const ScoringBatch& batch) const;
  /// Throws Error `unsupported` for a segment of an input of `length` tokens that is beyond the kernels' limits.
  void check_segment(const relucent::Segment& segment, std::size_t length) const;
  /// A batch of texts by themselves.
  static PairBatch texts_of(std::span<const relucent::Segment> texts);
  /// The smallest input, of one token in each place.
  static PairBatch smallest_batch();
  /// Computes a batch that warms up.
  void compute(const ChunkWork& work, const PairBatch& batch, Workspace& w) const;
  /// Starts the work of `count` chunks, each while the device computes the one before, and calls finish(i, its buffers)
  /// when the i-th has ended.
  static void run_chunks(Workspace& w, std::size_t count, const StopSignal& stop, DeviceCost& cost,
                         const std::function<void(std::size_t)>& start,
                         const std::function<void(std::size_t, const ChunkBuffers&)>& finish);
  /// The same for chunks of a batch.
  void run_batch(const ChunkWork& work, const PairBatch& batch, std::span<const Chunk> chunks, Workspace& w,
                 const StopSignal& stop, DeviceCost& cost,
                 const std::function<void(const Chunk&, const ChunkBuffers&)>& finish) const;
  /// Copies the logits of some candidates or documents to their places among those of the batch.
  void copy_logits(const ChunkBuffers& buffers, std::size_t count, std::size_t first, std::span<float> logits) const;
  /// The same for a whole batch of candidates, whose logits it writes.
  void score(const ChunkWork& work, const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed,
             const StopSignal& stop, DeviceCost& cost) const;

  // Memory.

  /// See Encoder.
  ChunkSize room_for(std::size_t rows) const;
  WorkspaceBytes bytes_of(const ChunkWork& work, const ChunkSize& room) const;
  ChunkTables tables_of(const ChunkSize& size) const { return {size, shape_.pivot_groups.size()}; }
  void count_bytes(const ChunkWork& work, const ChunkSize& size, DeviceCost& cost) const {
    cost.bytes = std::max<std::uint64_t>(cost.bytes, work.activation_bytes(size) + tables_of(size).bytes);
  }
  /// An address for memory that is only measured.
  static std::byte* anywhere() { return reinterpret_cast<std::byte*>(std::uintptr_t{256}); }
  std::size_t row_bytes() const { return as_size(hidden_) * size_of(element_); }
  /// The alignment of a place that is some rows of the hidden size behind an aligned one, at most 256 bytes.
  int row_alignment() const { return as_int(std::min<std::size_t>(256, row_bytes() & (~row_bytes() + 1))); }
  std::size_t sum_bytes() const { return as_size(hidden_) * size_of(sums_); }  ///< of a row of x
  template <typename T>
  static const T* table(Workspace& w, std::size_t offset) {
    return reinterpret_cast<const T*>(w.now().tables.data() + offset);
  }

  // Weights and products.

  const void* at(std::size_t offset) const { return offset == kAbsent ? nullptr : weights_->data() + offset; }
  const float* floats_at(std::size_t offset) const { return reinterpret_cast<const float*>(at(offset)); }
  Norm norm_at(const PackedNorm& norm) const;
  MatmulForm form(int out, int in, std::size_t weight) const;
  std::unique_ptr<Matmul> matmul(const MatmulForm& form) { return std::make_unique<Matmul>(library_, form); }
  std::vector<std::string> algorithms() const { return library_.algorithms(); }
  static void run(const Matmul& product, const void* x, void* y, int rows, Workspace& w);
  std::unique_ptr<Matmul> linear(int out, int in, const PackedLinear& from, int usual_rows = MatmulForm().usual_rows);
  /// A product whose result is added to x, with the bias unless sums() is another type than element().
  std::unique_ptr<Matmul> added(int out, int in, const PackedLinear& from, int usual_rows = MatmulForm().usual_rows,
                                int x_stride = 0);
  /// The bias that such a product leaves to norm(), or null.
  const void* bias_of_added(const PackedLinear& from) const { return sums_ == element_ ? nullptr : at(from.bias); }
  /// The feed-forward's products, with what cublasLt computes of the activation.
  std::unique_ptr<Matmul> intermediate(const Layer& layer, const PackedLinear& from,
                                       int usual_rows = MatmulForm().usual_rows);
  std::unique_ptr<Matmul> output(const Layer& layer, const PackedLinear& from,
                                 int usual_rows = MatmulForm().usual_rows);
  Layer make_layer(const relucent::Layer& described, const PackedLayer& from);
  /// The rest of a layer, after its attentions.
  Layer make_feed_forward(const FeedForward& described, const PackedLayer& from,
                          int usual_rows = MatmulForm().usual_rows);

  // Embed, attend, after the heads.

  /// Copies a chunk's tables to the device.
  void send_tables(const Chunk& chunk, Workspace& w) const;
  /// Computes the embeddings of a chunk's tokens.
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
  /// x = LN(x + y), or, if norms come before the sub-blocks, x += y and normed = LN(x). bias: that of y, unless y has
  /// it.
  void norm(const Norm& norm, const void* y, int rows, const Places& places, Workspace& w,
            const void* bias = nullptr) const;
  void feed_forward(const Layer& layer, const Matmul& intermediate, const Matmul& output, const Places& places,
                    void* wide, void* y, int rows, Workspace& w) const;

 private:
  /// Fills relative_ and makes the layers' products with it.
  void project_positions(const PackedWeights& weights);
  /// Whether the product itself computes the activation: cublasLt's GELU is the tanh approximation, off by up to 5e-4.
  bool fused(const Layer& layer) const;

  const EncoderDescription& description_;
  int device_;
  float norm_epsilon_;
  int hidden_, embedding_, heads_, head_size_, intermediate_, wide_;
  float scale_;
  Element element_, sums_;
  bool tf32_;
  bool norms_before_;  // the sub-blocks
  ChunkShape shape_;
  std::size_t longest_;
  std::shared_ptr<const DeviceMemory> weights_;
  RelativeWork relative_work_ = {};
  int taps_ = 0;  // of a convolution after the first layer
  MatmulLibrary library_;
  std::vector<Layer> layers_;
  EmbeddingTables tables_;
  Norm embedding_norm_, first_norm_;
  std::unique_ptr<Matmul> embedding_projection_;  // null: none
  std::unique_ptr<DeviceMemory> relative_;        // per layer [buckets, hidden] for queries, then for keys
};

/// What encoders have in common: a core, and what it does for those that do not override it.
class ChunkEncoder : public Encoder, protected ChunkWork {
 public:
  ChunkSize room_for(std::size_t rows) const override { return core_.room_for(rows); }
  WorkspaceBytes bytes_of(const ChunkSize& room) const override { return core_.bytes_of(*this, room); }
  void warm_up(Workspace& w) const override { core_.compute(*this, Core::smallest_batch(), w); }
  std::vector<std::string> algorithms() const final { return core_.algorithms(); }

 protected:
  ChunkEncoder(EncoderKind kind, const EncoderSource& source, ChunkShape shape)
      : Encoder(kind), core_(source, std::move(shape)) {}

  Core core_;
  const int device_ = core_.device(), hidden_ = core_.hidden();
  const Element element_ = core_.element();
};

}  // namespace relucent::cuda
