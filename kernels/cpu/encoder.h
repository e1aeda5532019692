#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/memory.h"
#include "kernels/cpu/packed_linear.h"
#include "kernels/cpu/schedule.h"
#include "kernels/cpu/vector_kernels.h"
#include "kernels/pair_form.h"
#include "relucent/kernels/backend.h"

namespace relucent::cpu {

/// What Encoder::encode() leaves of some candidates for Encoder::finish().
struct Encoded {
  /// Without a decoder: per candidate [CLS]'s input to the last block and then its context there, [2 hidden]; unless
  /// the last block computes only [CLS], the state that the head takes.
  std::vector<float> cls;
  /// For an encoder with interaction: per candidate its context, [tokens][hidden], also in `cls`.
  /// With a decoder: per candidate the states that leave the first stack, [hidden][stride].
  struct States {
    std::size_t tokens = 0, stride = 0, query = 0;  // the first `query` tokens are the query's
    Buffer<float> rows;
  };
  std::vector<States> states;
};

/// Memory for a group's activations or for one worker's share of the work. Buffers grow to the largest size needed so
/// far and are reused. Layouts: see VectorKernels.
struct Workspace {
  Encoded encoded;  // for a whole call

  // For a group.
  Buffer<float> x;        // activation: a block's input, then its output
  Buffer<float> context;  // operand of the output projection, in int8 still an activation: the heads' output
  Buffer<float> operand, token_scales;
  Buffer<float> rotations;    // per theta: cosines, then sines, [head size / 2][tokens of all panels]
  std::vector<float> turns;   // per theta: cosines, then sines, [positions][head size / 2]
  std::vector<float> biases;  // per table of relative positions: [heads][distances, see Encoder::biases_of()]
  std::size_t positions = 0;  // that turns and biases are made for

  std::unique_ptr<Workspace> pivots;  // for the group of a group's pivots

  // For a worker, or for a group whose workers share the features (after_heads_by_features).
  Buffer<float> wide;    // activation [intermediate] of some panels; of embeddings before their projection
  Buffer<float> gate;    // likewise
  Buffer<float> normed;  // activation: the input of a sub-block whose norm comes before
  Buffer<float> part_operand, part_scales, wide_operand, wide_scales;

  // For a worker.
  Buffer<float> head;         // [3 head size][stride]: query, key and value of one head, of a chunk's tokens
  Buffer<float> head_output;  // [head size][stride]
  Buffer<float> globals;      // [4 head size][stride]: query, key, value and output of a document's global tokens
  Buffer<float> masks;        // [document]
  Buffer<float> scores;
  Buffer<float> cls, cls_query, cls_absorbed, cls_mixed, cls_value, cls_context, cls_vectors;  // last block
  Buffer<float> rows;  // one sequence's [hidden][tokens], for the last block
};

/// The workers that compute a group: one thread alone, or all workers of a pool together.
struct Team {
  using Work = std::function<void(std::size_t index, Workspace& own)>;
  Workspace& group;
  std::size_t workers = 1;
  /// Calls work(index, the worker's workspace) for every index below a count; returns when all have ended.
  std::function<void(std::size_t count, const Work& work)> each;

  static Team alone(Workspace& workspace);
};

/// A query's states if they do not depend on the candidate: keys and values of each block, and the last block's input.
/// Rows have `stride` tokens; those beyond the query are 0.
struct QueryStates {
  std::size_t tokens = 0, stride = 0;
  std::vector<Buffer<float>> heads;  // per whole layer [heads][2 head size][stride]: keys, then values
  Buffer<float> last;                // [hidden][stride]: input of the last block, or what the decoder sees
};

/// What is a candidate's own: its document, and the places in it of its global tokens (kGlobal).
struct Candidate {
  Segment document;
  std::span<const std::size_t> globals = {};
};

/// One candidate's range of a group's tokens: [CLS] unless a decoder has it, the query unless it is shared, the
/// document.
struct Sequence {
  Candidate candidate;
  std::size_t first = 0;  // the place of its first token

  const Segment& document() const { return candidate.document; }
};

/// An encoder's weights, packed for the CPU's kernels, and the computation of a group of sequences. Immutable; callers
/// provide the memory. A sequence's result depends neither on the rest of its group nor on which workers compute it.
///
/// Work per candidate of T = 1 + |D| tokens, with the query shared: (layers - 1) blocks of 2 T (4 H^2 + 2 H I)
/// operations in matrix products, plus the windowed attention (1% of that at w = 4). The last block computes only
/// [CLS]. Its key and value projections move out of the sums over tokens (q . (W_K x) = (W_K^T q) . x, sum_k p_k W_V
/// x_k = W_V sum_k p_k x_k). So it reads each token twice, and its matrix products take only [CLS] tokens, those of
/// many sequences at once. T5's decoder is a row of such blocks: it computes one token per candidate, and reads each
/// state of the first stack twice per layer.
///
/// A text of an encoder with interaction is such a sequence without [CLS] and query, of which encode() leaves the
/// context. interact() computes the second stack for many candidates: 2 H^2 (12 k + 13) operations per layer, candidate
/// and k states.
class Encoder {
 public:
  Encoder(const EncoderDescription& description, const EncoderWeights& weights, Arithmetic arithmetic,
          const VectorKernels& kernels);

  /// Whether Q's states are the same for all candidates, and are computed once.
  bool shares_query() const noexcept { return form_.shares_query && (last_is_short_ || cls_apart()); }
  /// For an encoder with interaction, as far as the interaction reads it.
  QueryStates encode_query(const Segment& query, Team& team, const StopSignal& stop) const;

  /// Tokens a candidate takes in a group.
  std::size_t tokens(std::size_t query, std::size_t document) const {
    return (cls_apart() ? 0 : 1) + (shares_query() ? 0 : query) + document;
  }
  /// Candidates that may be kept as Encoded at a time: with a decoder, which keeps all of their tokens, not all.
  std::size_t most_encoded() const noexcept { return has_decoder() ? 64 : static_cast<std::size_t>(-1); }
  /// Room for some candidates.
  void prepare(Encoded& encoded, std::size_t candidates) const;
  /// Computes all blocks of the first stack for a group of candidates, a last one for [CLS] alone only up to its
  /// context. Writes the candidates from `first` on to `out`. `shared` holds the query's states if shares_query(),
  /// otherwise it is null.
  void encode(const Segment& cls_token, const Segment& query, std::span<const Candidate> candidates,
              const QueryStates* shared, Encoded& out, std::size_t first, Team& team, const StopSignal& stop) const;
  /// Computes the rest, a last block or a decoder and the head, for any number of candidates from `first` on, and
  /// writes their logits.
  void finish(const Segment& cls_token, const Encoded& encoded, std::size_t first, const QueryStates* shared,
              std::span<float> logits, Workspace& workspace) const;
  /// Tokens that a worker's own group should have at most.
  std::size_t group_tokens() const noexcept { return kernels_.group_tokens; }

  bool has_interaction() const noexcept { return !interaction_.empty(); }
  /// Numbers in the context of one text.
  std::size_t context_size() const noexcept { return context_tokens_ * hidden_; }
  /// Of how many of `count` candidates one worker should compute the interaction at a time.
  std::size_t candidates_together(std::size_t count, std::size_t workers) const;
  /// Writes the scores of candidates, given their contexts, to a query.
  void interact(const QueryStates& query, std::span<const float* const> contexts, std::span<float> scores,
                Workspace& workspace, const StopSignal& stop) const;

  /// A document: some candidates of a batch, its passages, and their pivots.
  struct Document {
    std::span<const Candidate> passages;
    std::span<const Pivots> pivots;
  };
  bool has_exchanges() const noexcept { return !exchanges_.empty(); }
  /// Computes all blocks of some documents' passages, with the exchanges between them, and writes the documents'
  /// logits.
  void score_documents(const Segment& cls_token, const Segment& query, std::span<const Document> documents,
                       std::span<float> logits, Team& team, const StopSignal& stop) const;

  /// Computes every block for every token. Throws Error `unsupported` with a decoder or exchanges.
  HiddenStates hidden_states(const PairBatch& pair, Workspace& workspace) const;

 private:
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
    std::optional<std::size_t> rotation;  // index into thetas_
    std::optional<std::size_t> biases;    // index into relative_biases_
  };
  /// The projections of a block that computes one token per sequence.
  struct OneTokenHeads {
    PackedLinear query;
    std::vector<PackedLinear> key;    // one per head: W_K^T, [hidden, head size]
    std::vector<PackedLinear> value;  // one per head: W_V, [head size, hidden]
  };
  /// What one token sees: of a sequence, `before` tokens of itself, then the query's unless shared, then the
  /// document's.
  struct Seen {
    TokenRows own, query;  // query: the shared one; without rows if it is not shared
    std::size_t before = 0, query_in_own = 0;
    bool sees_query = true, sees_document = true;
  };
  /// A decoder computes one token per candidate, whose own attention has one key, and so is its value.
  struct DecoderLayer {
    NormParameters own_norm;
    PackedLinear own_value, own_output;
    NormParameters norm;
    OneTokenHeads heads;
    AfterHeads after;
    bool sees_query = true, sees_document = true;
  };
  /// A layer in which the context of a candidate and its gated token see the query.
  struct InteractionLayer {
    std::size_t keys_of;  // layer of the first stack
    PackedLinear heads;   // of the context, as in Layer
    PackedLinear gated_query;
    // Of the hint, with the bias; of the attention's result; of the token so far. Layers may share it.
    std::shared_ptr<const std::array<PackedLinear, 3>> gate;
    Pooling hint;
    AfterHeads after;
  };
  /// The layer of pivots that follows a block, and what their tokens take up of it.
  struct ExchangeLayer {
    Layer layer;
    PackedLinear combine;  // of a token and its pivot; without features: the tokens stay as they are
  };
  /// What a group of pivots adds to a score; see kernels/folded_head.h.
  struct FoldedPooling {
    std::vector<float> vectors;  // [hidden][2 heads]: of all heads' `weighing`, then of all heads' `values`
    double bias = 0;             // of a group that is not empty
  };
  /// Pivots of some documents: a sequence per document and group that has any.
  struct PivotGroup;

  /// A group in the workspace's panels.
  struct Group {
    std::vector<Sequence> sequences;
    std::size_t cls = 1;    // tokens of C: none with a decoder
    std::size_t query = 0;  // |Q|
    bool query_in_group = false;
    std::ptrdiff_t cls_position = 0, query_position = 0;  // of the first token, for windows
    std::size_t tokens = 0;                               // of all sequences
    std::size_t vectors = 0;
    std::size_t first_document(const Sequence& sequence) const {
      return sequence.first + cls + (query_in_group ? query : 0);
    }
    std::size_t tokens_of(const Sequence& sequence) const {
      return first_document(sequence) - sequence.first + sequence.document().tokens();
    }
  };

  Group layout(const Segment& cls, const Segment& query, std::span<const Candidate> candidates,
               bool query_in_group) const;
  std::size_t panels(std::size_t vectors) const;
  /// Some of a group's sequences, and the panels that hold them. Two chunks may share a panel.
  struct Chunk {
    std::span<const Sequence> sequences;
    std::size_t first_token = 0, tokens = 0;
    std::size_t first_panel = 0, panels = 0;
  };
  /// Splits a group's sequences into runs of about equally many tokens. There are enough runs to keep the team busy
  /// with `tasks_each` tasks per run.
  std::vector<Chunk> chunks_of(const Group& group, std::size_t tasks_each, const Team& team) const;
  /// Calls work(first, count, own) for runs of the items [0, count), at most `most` at a time.
  template <typename Work>
  static void share_out(Team& team, std::size_t count, std::size_t most, const Work& work) {
    const std::size_t size = task_size(count, team.workers, most);
    team.each((count + size - 1) / size, [&](std::size_t index, Workspace& own) {
      const std::size_t first = index * size;
      work(first, std::min(size, count - first), own);
    });
  }
  EmbeddingRows embedding(const Segment& segment, std::size_t i) const;
  /// The tokens' embeddings, normalized, as the group's x, and its operand.
  void embed(std::span<const EmbeddingRows> tokens, Team& team) const;
  void embed(const Segment& cls, const Segment& query, const Group& group, Team& team) const;
  /// One more than a group's highest position.
  static std::size_t positions_of(const Group& group);
  /// Makes what depends on positions below `count`: turns and biases.
  void prepare_positions(std::size_t count, Workspace& w) const;
  /// Fills the group's rotations, one per theta.
  void fill_rotations(const Segment& cls, const Segment& query, const Group& group, Workspace& w) const;
  /// A head's biases by distance, the token's position less the key's; null without relative positions.
  const float* biases_of(const Layer& layer, std::size_t head, const Workspace& group) const;
  /// The part of an activation's operand that starts at a panel.
  OperandOut from_panel(const OperandOut& out, std::size_t features, std::size_t panel) const;
  /// The number of vectors in the panels [first_panel, first_panel + count).
  std::size_t vectors_of(std::size_t first_panel, std::size_t count, std::size_t vectors) const;

  /// Fills a head's output for a chunk from the chunk's queries, keys and values, which start at its first panel.
  using Attend = std::function<void(const Chunk& chunk, std::size_t head, const float* values, float* output,
                                    std::size_t stride, Workspace& own)>;
  /// Computes a whole block on the group's x, whose operand is already packed; packs the operand of the next block.
  void block(const Layer& layer, const Group& group, Team& team, const Attend& attend) const;
  /// Its first half: the heads' output, as the group's context.
  void attend_heads(const Layer& layer, const Group& group, Team& team, const Attend& attend) const;
  /// The rest of the block. The workers share the panels, or the features if there are too few panels.
  void after_heads(const AfterHeads& layer, std::size_t vectors, Team& team) const;
  void after_heads_by_features(const AfterHeads& layer, std::size_t vectors, Team& team) const;
  /// Packs a sub-block's input into `out`: `vectors` vectors of x, which a norm after the last sub-block normalizes
  /// first, or a copy of which the norm before the next one normalizes. No gamma: no norm.
  void norm_between(const NormParameters& parameters, float* x, std::size_t vectors, const OperandOut& out,
                    Workspace& own) const;
  Norm norm_of(const NormParameters& parameters, float* x, std::size_t vectors) const;
  /// Whether the heads' output is packed as it comes, and so the context is an operand. A token's int8 scale is known
  /// only when all heads have ended.
  bool packs_heads() const { return arithmetic_ != Arithmetic::int8 && head_size_ % inputs_together(arithmetic_) == 0; }
  void feed_forward(const AfterHeads& layer, float* x, std::size_t vectors, const OperandOut& next,
                    Workspace& own) const;
  void attend_chunk(const Views& views, const Group& group, const Chunk& chunk, const Keys& shared_query,
                    const float* biases, std::size_t stride, Workspace& workspace) const;
  /// Multiplies an operand of `vectors` vectors: to = W operand + b, or to += that.
  void multiply(const PackedLinear& linear, const OperandOut& packed, std::size_t vectors, Product::Output output,
                float* to, std::size_t to_features) const;
  /// The same for an activation, which it packs first.
  void multiply(const PackedLinear& linear, const float* activation, std::size_t features, std::size_t vectors,
                Product::Output output, float* to, std::size_t to_features, Workspace& workspace) const;
  /// Attention of one token for each of `count` sequences, of which `seen(i)` tells what it sees. `queries` is an
  /// activation of them, `context` another one: [heads * head size].
  template <typename SeenBy>
  void attend_one_token(const OneTokenHeads& heads, const float* queries, std::size_t count, const SeenBy& seen,
                        float* context, Workspace& workspace) const;
  /// The last block's attention for the [CLS] tokens of some sequences of a group whose activation is x; see encode().
  void last_attention(const Group& group, std::span<const Sequence> sequences, const float* x,
                      const QueryStates* shared, float* cls, Workspace& workspace) const;
  PivotGroup pivots_of(const Group& group, std::span<const Document> documents) const;
  void pack_head(const EncoderWeights& weights);
  std::size_t keep_pivots_tokens(PivotGroup& pivots, Team& team) const;
  /// Computes the pivots' states, the activation of the pivots' workspace, from those of their tokens.
  void exchange(const ExchangeLayer& layer, const PivotGroup& pivots, const Group& group, Team& team) const;
  void attend_pivots(const PivotGroup& pivots, const Chunk& chunk, const float* rows, float* output, std::size_t stride,
                     Workspace& own) const;
  void combine(const PackedLinear& linear, const PivotGroup& pivots, const Group& group, Team& team) const;
  /// What a sequence of pivots adds to its document's score.
  double pool_pivots(const FoldedPooling& pooling, const Sequence& pivots, const float* x, Workspace& own) const;
  /// The decoder's output for some candidates, in workspace.cls.
  void decode(const Segment& token, std::span<const Encoded::States> states, const QueryStates* shared,
              Workspace& workspace) const;
  /// The context that derives from a sequence of a group whose activation is x: [tokens][hidden].
  void derive(const Group& group, const Sequence& sequence, const float* x, float* context, Workspace& workspace) const;
  /// The heads' output in an interaction, [heads * head size] of `context`: of the context's tokens, which are the
  /// operand, and of the gated tokens, whose queries are an activation. Each takes `block` vectors per token.
  void attend_query(const InteractionLayer& layer, const QueryStates& query, const OperandOut& tokens,
                    const float* gated_queries, std::size_t block, float* context, Workspace& workspace) const;
  /// Computes `features` features, starting at `first`, of the intermediate layer of some panels, with gate and
  /// activation: feature f of panel p at out + (p * features + f) * panel.
  void intermediate(const AfterHeads& layer, std::size_t first, std::size_t features, const OperandOut& in,
                    std::size_t vectors, float* out, Workspace& own) const;
  /// The norm after all blocks, in place, if there is one; then pool() takes the mean of the states that the head
  /// takes, for each sequence of a group whose activation is x: `states` + i * stride.
  void finish_states(float* x, std::size_t vectors) const;
  void pool(const Group& group, const float* x, float* states, std::size_t stride) const;
  /// The logits of the pooled states in workspace.cls.
  void head(std::span<float> logits, Workspace& workspace) const;
  void normalize(const NormParameters& norm, std::span<float> values) const;
  /// Columns [first, first + tokens) of an activation as rows with `stride`.
  void copy_tokens(const float* activation, std::size_t features, std::size_t first, std::size_t tokens, float* rows,
                   std::size_t stride) const;
  void put_token(const float* values, float* activation, std::size_t features, std::size_t token) const;
  const float* place(const float* activation, std::size_t features, std::size_t token) const;
  OperandOut operand(Arithmetic arithmetic, std::size_t features, std::size_t vectors, Buffer<float>& units,
                     Buffer<float>& token_scales) const;
  bool has_decoder() const noexcept { return !decoder_.empty(); }
  /// Whether what stands in the place of [CLS] passes through a stack of its own.
  bool cls_apart() const noexcept { return description_.stacks.size() > 1; }
  std::size_t whole_layers() const { return layers_.size() - (last_is_short_ ? 1 : 0); }
  std::size_t whole_vectors(std::size_t tokens) const { return (tokens + kernels_.lanes - 1) / kernels_.lanes; }

  EncoderDescription description_;
  PairForm form_;
  const VectorKernels& kernels_;
  Arithmetic arithmetic_, projection_arithmetic_;
  bool norms_before_;                                       // the sub-blocks
  bool last_is_short_;                                      // the last block computes only [CLS]
  float scale_;                                             // of query . key
  std::size_t hidden_, head_size_, heads_, head_features_;  // head_features_: padded 3 head size
  std::size_t width_;                                       // of all heads
  std::size_t embedding_;                                   // features
  std::vector<float> word_, position_, token_type_;         // a table that the model lacks: one row of zeros
  NormParameters embedding_norm_;
  NormParameters first_norm_, final_norm_;  // before the first sub-block and after the last one; may be absent
  std::vector<double> thetas_;
  PositionScheme relative_;
  std::vector<std::vector<float>> relative_biases_;  // [buckets][heads]
  std::vector<Layer> layers_;
  OneTokenHeads last_;
  std::optional<AfterHeads> after_last_heads_;  // unless the last layer's are used
  std::vector<ExchangeLayer> exchanges_;        // one per block, or none
  std::vector<FoldedPooling> head_pooling_;     // [groups of the head]
  double folded_bias_ = 0;                      // of every document's score
  std::vector<DecoderLayer> decoder_;
  NormParameters decoder_norm_;  // after its last layer
  std::vector<InteractionLayer> interaction_;
  std::size_t context_tokens_ = 0;
  std::vector<float> codes_;                        // [hidden][context tokens]; empty: the first tokens
  PackedLinear embedding_projection_, head_dense_;  // without features: none
  NormParameters head_norm_;
  std::vector<float> head_output_, head_bias_;  // [outputs][hidden], [outputs]
};

}  // namespace relucent::cpu
