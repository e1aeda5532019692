// The core of every encoder: its tokens' embeddings, attention, and what follows the heads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/encoders/encoder.h"
#include "kernels/cpu/encoders/panels.h"
#include "kernels/cpu/schedule.h"
#include "kernels/pair_form.h"

namespace relucent::cpu {

/// A candidate in a group: [CLS] and the query, as far as the group has them, and its document.
struct Sequence {
  Segment document;
  std::span<const std::size_t> globals = {};  // the places in the document of its global tokens (kGlobal)
  std::size_t first = 0;                      // the place in the group of its first token
};

/// Sequences in a workspace's panels.
struct Group {
  Segment cls, query;           // of every sequence, or absent
  bool query_in_group = false;  // otherwise the sequences share its states
  std::vector<Sequence> sequences = {};
  std::size_t tokens = 0, vectors = 0;  // of all sequences

  std::size_t first_document(const Sequence& sequence) const {
    return sequence.first + cls.tokens() + (query_in_group ? query.tokens() : 0);
  }
  std::size_t tokens_of(const Sequence& sequence) const {
    return first_document(sequence) - sequence.first + sequence.document.tokens();
  }
};

/// A query's states if they do not depend on the candidate: keys and values of each block, and what the last one gives.
/// Rows have `stride` tokens; those beyond the query are 0.
struct QueryStates {
  std::size_t tokens = 0, stride = 0;
  std::vector<Buffer<float>> heads;  // per computed layer [heads][2 head size][stride]: keys, then values
  Buffer<float> last;  // [hidden][stride]; if only keys are read: what the last layer takes, if the head reads that

  Keys of_head(std::size_t layer, std::size_t head, std::size_t head_size) const {
    const float* const keys = heads[layer].data() + head * 2 * head_size * stride;
    return {keys, keys + head_size * stride, stride, tokens};
  }
};

/// What disentangled attention compares with queries and keys at each relative position: per head
/// [head size][buckets], or nothing.
struct RelativePositions {
  PositionScheme scheme;
  std::vector<float> keys, queries;
  std::vector<std::size_t> rows;  // by distance, from the lowest on; those beyond the ends are in their buckets

  std::size_t row(std::ptrdiff_t distance) const {
    const auto reach = static_cast<std::ptrdiff_t>(rows.size() / 2);
    return rows[static_cast<std::size_t>(std::clamp(distance, -reach, reach) + reach)];
  }
};

/// A sequence's products of its tokens with relative positions, [rows from first_row on][tokens].
struct RelativeProducts {
  const RelativePositions* positions = nullptr;
  const float *of_queries = nullptr, *of_keys = nullptr;  // null: none
  std::size_t first_row = 0, stride = 0;
  float* biases = nullptr;  // room for those of some tokens' scores of all
};

/// Keys::biases among kCausalTokens tokens: they hide every later token.
constexpr std::size_t kCausalTokens = 64, kCausalStride = kCausalTokens + 17;
std::vector<float> hidden_later_tokens();

/// The transpose of a matrix [rows, columns].
std::vector<float> transposed(const std::vector<float>& matrix, std::size_t columns);

/// The layers of the first stack with the embeddings before them, for groups of sequences, and the products and norms
/// of which encoders make layers of their own. Every encoder owns one. A sequence's result depends neither on the rest
/// of its group nor on which workers compute it. Immutable.
///
/// Work per candidate of T tokens and layer: 2 T (4 H^2 + 2 H I) operations in matrix products, plus the attention (1%
/// of that in a window of 4).
class Core : public Panels {
 public:
  struct NormParameters {
    std::vector<float> gamma, beta;
    std::vector<float> bias;  // of the product before the norm, if that product does not add it; otherwise empty
  };
  /// What a block computes of its heads' outputs.
  struct AfterHeads {
    PackedLinear attention_output, intermediate;
    PackedLinear gate;                 // without features: the feed-forward has none
    std::vector<PackedLinear> output;  // one per part of the intermediate features
    Activation activation;
    /// Norms before the sub-blocks: that of the feed-forward, and the next block's.
    NormParameters attention_norm, output_norm;

    bool gated() const { return gate.features() > 0; }
    /// Whether the product itself computes the activation.
    bool fused() const { return activation == Activation::gelu_erf && !gated(); }
  };
  struct Layer {
    PackedLinear heads;  // each head's query, key and value features, padded
    AfterHeads after;
    Views views;
    std::optional<std::size_t> rotation = std::nullopt;  // index into rotary_
    std::optional<std::size_t> biases = std::nullopt;    // index into relative_biases_
    std::optional<RelativePositions> relative = std::nullopt;
    std::vector<float> query_norm = {}, key_norm = {};  // [head size]; empty: heads have no norms
  };
  /// Some of a group's sequences, and the panels that hold them. Two chunks may share a panel.
  struct Chunk {
    std::span<const Sequence> sequences;
    std::size_t first_token = 0, tokens = 0;
    std::size_t first_panel = 0, panels = 0;
  };

  explicit Core(const EncoderSource& source);

  const EncoderDescription& description() const { return description_; }
  const PairForm& form() const { return form_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  /// The arithmetic of products that reach the logit, or the next block's input, directly: 8 bits, or 16 in narrow
  /// encoders, would cost more accuracy there than the time saved is worth.
  Arithmetic direct_arithmetic() const { return direct_arithmetic_; }
  Arithmetic projection_arithmetic() const { return projection_arithmetic_; }
  float scale() const { return scale_; }  // of query . key
  std::size_t hidden() const { return hidden_; }
  std::size_t head_size() const { return head_size_; }
  std::size_t heads() const { return heads_; }                  // of queries
  std::size_t head_features() const { return head_features_; }  // of the queries that share a key, and of that; padded
  std::size_t width() const { return width_; }                  // of all heads
  const std::vector<Layer>& layers() const { return layers_; }

  // How the workers share a batch (core.cpp).

  /// Calls work(first, count, own) for runs of the items [0, count), at most `most` at a time.
  template <typename Work>
  static void share_out(Team& team, std::size_t count, std::size_t most, const Work& work) {
    const std::size_t size = task_size(count, team.workers, most);
    team.each((count + size - 1) / size, [&](std::size_t index, Workspace& own) {
      const std::size_t first = index * size;
      work(first, std::min(size, count - first), own);
    });
  }
  /// Items by their tokens, the longest first, so that no worker finishes last with a long one.
  struct Order {
    std::vector<std::size_t> items, tokens;
  };
  static Order longest_first(std::span<const std::size_t> tokens);
  /// Calls work(run, team) for runs of items with these numbers of tokens, the longest first; a team is one worker or
  /// all of them.
  void each_run(std::span<const std::size_t> tokens, Team& everybody,
                const std::function<void(const Schedule::Run& run, Team& team)>& work) const;

  // Whole layers (core.cpp).

  /// Computes all blocks of texts that see only themselves, and calls work(group, items, team) for each run of them:
  /// the run's states are the group's x, and its sequences are these of the texts.
  void encode_texts(
      std::span<const Segment> texts, Team& everybody, const StopSignal& stop,
      const std::function<void(const Group& group, std::span<const std::size_t> items, Team& team)>& work) const;
  Group group_of(const Segment& cls, const Segment& query, bool query_in_group,
                 std::span<const Sequence> candidates) const;
  /// Computes block `number` on a group's x, whose operand is packed.
  void block(std::size_t number, const Group& group, const QueryStates* shared, Team& team) const;
  /// Computes the blocks [first, end) on a group's x, and after the last one of all the norm behind it. `shared` has
  /// the query's states, or is null.
  void blocks(const Group& group, std::size_t first, std::size_t end, const QueryStates* shared, Team& team,
              const StopSignal& stop) const;
  /// The norm after all blocks, in place, if there is one.
  void final_norm(const Group& group, Team& team) const;
  /// The mean of the states that the head takes, for each sequence of a group whose activation is x: `states` + i *
  /// stride.
  void pool(const Group& group, const float* x, float* states, std::size_t stride) const;
  /// The states of a query that sees itself alone, up to a number of layers; of the last one, if `only_keys`, nothing
  /// but keys and values, and its input if the head reads it.
  QueryStates encode_query(const Segment& query, std::size_t layers, bool only_keys, Team& team,
                           const StopSignal& stop) const;

  // Embed (core_embed.cpp).

  /// The tokens' embeddings, normalized, as the group's x, and its operand; and what depends on their positions.
  void embed(const Group& group, Team& team) const;
  /// The same of states instead, [tokens][hidden], of layers that normalize after their sub-blocks: those of [CLS] and
  /// query, which all sequences share, and those of the documents' segments.
  void enter(const Group& group, std::span<const float> shared, Team& team) const;
  EmbeddingRows embedding(const Segment& segment, std::size_t i) const;

  // Attend (core_attend.cpp).

  /// One head's queries, keys, values and output, [head size][stride], which start at a chunk's first panel.
  struct HeadRows {
    std::size_t head = 0, stride = 0;
    const float *query = nullptr, *keys = nullptr, *values = nullptr;
    float* output = nullptr;
  };
  /// Fills a head's output for a chunk.
  using Attend = std::function<void(const Chunk& chunk, const HeadRows& of, Workspace& own)>;
  /// The first half of a block on the group's x, whose operand is packed: the heads' output, as the group's context.
  void attend(const Layer& layer, const Group& group, Team& team, const Attend& attend) const;
  /// The same by the views of layer `number` of the first stack.
  void attend(std::size_t number, const Group& group, const QueryStates* shared, Team& team) const;
  /// Splits a group's sequences into runs of about equally many tokens. There are enough runs to keep the team busy
  /// with `tasks_each` tasks per run.
  std::vector<Chunk> chunks_of(const Group& group, std::size_t tasks_each, const Team& team) const;
  /// Whether the heads' output is packed as it comes, and so the context is an operand. A token's int8 scale is known
  /// only when all heads have ended.
  bool packs_heads() const { return !is_scaled(arithmetic_) && head_size_ % inputs_together(arithmetic_) == 0; }

  // After the heads (core_after_heads.cpp).

  /// The rest of a block; packs the operand of the next block. The workers share the panels, or the features if there
  /// are too few panels.
  void after_heads(const AfterHeads& layer, std::size_t vectors, Team& team) const;
  void feed_forward(const AfterHeads& layer, float* x, std::size_t vectors, const OperandOut& next,
                    Workspace& own) const;
  /// Packs a sub-block's input into `out`: `vectors` vectors of x, which a norm after the last sub-block normalizes
  /// first, or a copy of which the norm before the next one normalizes. No gamma: no norm.
  void norm_between(const NormParameters& parameters, float* x, std::size_t vectors, const OperandOut& out,
                    Workspace& own) const;
  Norm norm_of(const NormParameters& parameters, float* x, std::size_t vectors) const;
  using Panels::multiply;
  /// Multiplies an activation, which it packs first.
  void multiply(const PackedLinear& linear, const float* activation, std::size_t features, std::size_t vectors,
                Product::Output output, float* to, std::size_t to_features, Workspace& own) const;

  // Weights (core_weights.cpp).

  PackedLinear pack(Arithmetic arithmetic, const LinearWeights& from, bool biased = true) const;
  /// Each head's rows of a projection; or their transpose, without the bias.
  std::vector<PackedLinear> pack_by_head(const LinearWeights& from, bool transposes) const;
  /// Each head's query, key and value rows, one head after the other, each padded to whole blocks.
  /// Heads that share keys and values: their queries, then the key and the value.
  PackedLinear pack_heads(Arithmetic arithmetic, const AttentionWeights& from) const;
  /// What follows a layer's last attention. `adds`: to the block's input.
  AfterHeads pack_after_heads(Arithmetic arithmetic, const LayerWeights& from, const FeedForward& form,
                              bool adds = true) const;
  static NormParameters norm_from(const NormWeights& from);
  /// Makes the norms of a layer after its sub-blocks those before its feed-forward and before the next layer; returns
  /// the latter.
  static NormParameters shift_norms(AfterHeads& after, const LayerWeights& from, const NormWeights& next);

 private:
  /// What follows the first layer: a linear map per tap.
  struct ConvolutionWeights {
    std::vector<PackedLinear> taps;
    Activation activation = Activation::none;
    NormParameters norm;
  };
  ConvolutionWeights pack_convolution(const Convolution& form, const StackWeights& from) const;
  /// `inputs`: the group's x before the first layer.
  void convolve(const Group& group, const float* inputs, Team& team) const;

  // What depends on positions (core_positions.cpp).

  void prepare_positions(const Group& group, Workspace& w) const;
  /// Makes what depends on positions below `count`: turns and biases.
  void make_tables(std::size_t count, Workspace& w) const;
  /// Fills the group's rotations, one per scheme.
  void turn_tokens(const Group& group, Workspace& w) const;
  /// A head's biases by distance, the token's position less the key's; null without relative positions.
  const float* biases_of(const Layer& layer, std::size_t head, const Workspace& group) const;

  /// `rows`: the queries of the sequence's tokens, followed by their keys.
  RelativeProducts relative_products(const RelativePositions& relative, std::size_t head, const Group& group,
                                     const Sequence& sequence, const float* rows, std::size_t stride,
                                     Workspace& own) const;
  RelativePositions project_positions(const PositionScheme& scheme, const AttentionWeights& from,
                                      const std::vector<float>& states) const;

  void attend_views(const Layer& layer, const HeadRows& of, const Group& group, const Chunk& chunk,
                    const Keys& shared_query, const float* biases, Workspace& own) const;
  /// Causal attention of `tokens` consecutive tokens from `first` on: each sees the keys of `before`, and of its own
  /// run those up to itself.
  void attend_causally(const HeadRows& of, std::size_t first, std::size_t tokens, const Keys& before,
                       Workspace& own) const;
  void norm_head(const std::vector<float>& gamma, float* rows, std::size_t stride, std::size_t tokens) const;
  void after_heads_by_features(const AfterHeads& layer, std::size_t vectors, Team& team) const;
  /// Computes `features` features, starting at `first`, of the intermediate layer of some panels, with gate and
  /// activation: feature f of panel p at out + (p * features + f) * panel.
  void intermediate(const AfterHeads& layer, std::size_t first, std::size_t features, const OperandOut& in,
                    std::size_t vectors, float* out, Workspace& own) const;

  EncoderDescription description_;
  PairForm form_;
  Arithmetic arithmetic_, projection_arithmetic_, direct_arithmetic_;
  bool norms_before_;  // the sub-blocks
  float scale_;
  std::size_t hidden_, head_size_, heads_, sharing_, head_features_, width_;
  std::vector<Layer> layers_;
  std::size_t embedding_;                            // features
  std::vector<float> word_, position_, token_type_;  // a table that the model lacks: one row of zeros
  NormParameters embedding_norm_;
  PackedLinear embedding_projection_;       // without features: none
  NormParameters first_norm_, final_norm_;  // before the first sub-block and after the last one; may be absent
  std::vector<PositionScheme> rotary_;
  std::optional<ConvolutionWeights> convolution_;
  PositionScheme relative_;
  std::vector<std::vector<float>> relative_biases_;  // [buckets][heads]
  std::vector<float> later_tokens_;                  // biases that hide them in causal attention
};

}  // namespace relucent::cpu
