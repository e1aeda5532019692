#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relucent/export.h"
#include "relucent/kernels/activation.h"

namespace relucent {

/// What a token's input or state depends on; a union of bits.
enum class Dependence : std::uint8_t {
  nothing = 0,    ///< the same for every query and candidate: [CLS]
  query = 1,      ///< the query alone: computed once per query
  candidate = 2,  ///< the candidate alone: could be computed before any query arrives
  pair = 3,
  set = 7,  ///< the query and several candidates: all of the batch, or those of one document
};
constexpr Dependence operator|(Dependence a, Dependence b) {
  return static_cast<Dependence>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool within(Dependence a, Dependence b) { return (a | b) == b; }

/// A candidate's tokens of one group as a function of those of another: few states that stand for all of a text.
struct Derivation {
  enum class Kind {
    first_tokens,  ///< the first ones
    codes,         ///< for each of some learnt codes c: sum_i softmax_i(c . x_i) x_i over the tokens' states x_i
  };
  Kind kind = Kind::first_tokens;
  std::int32_t group = 0;   ///< of an earlier stack, whose last states are taken
  std::int32_t tokens = 0;  ///< how many

  friend bool operator==(const Derivation&, const Derivation&) = default;
};

/// Tokens that see, and are seen, alike: [CLS], the query, the document, the starts of sentences, a decoder's token.
struct TokenGroup {
  std::string name;
  /// What its ids and positions depend on. `nothing` and `query`: its segments are shared by the batch's candidates.
  /// A document whose positions follow the query depends on the pair.
  Dependence input = Dependence::nothing;
  /// If set, a candidate has a segment of the group it derives from, or else one of these states, computed earlier.
  std::optional<Derivation> derived = std::nullopt;
  /// If set, the tokens are pivots: each one's state is the mean of some tokens' states of this group in one candidate.
  /// They have no segments, and pass through exchanges, if there are any, instead of layers; ScoringBatch::documents
  /// has them.
  std::optional<std::int32_t> pivots_of = std::nullopt;

  friend bool operator==(const TokenGroup&, const TokenGroup&) = default;
};

/// What a token sees of a group; everything that it sees is in one softmax.
struct View {
  enum class Kind {
    none,
    all,
    window,  ///< the tokens whose position differs by at most `window`
    before,  ///< the tokens whose position is not greater: causal attention
    across,  ///< all tokens of the group in all candidates of the batch
    linked,  ///< of a pivot: the group's pivots that the batch names, in any candidate of the same document
  };
  Kind kind = Kind::none;
  std::int32_t window = 0;  ///< 0: the token at the same position, itself

  friend bool operator==(const View&, const View&) = default;
};

/// views[from][to]: what a token of group `from` sees of group `to`. A group that sees nothing has no row, or an empty
/// one.
using Views = std::vector<std::vector<View>>;

/// How attention knows where tokens are, beyond the embeddings.
struct PositionScheme {
  enum class Kind {
    none,
    /// RoPE on query and key: pairs (i, i + head_size / 2), angle position * rate * theta^(-2 i / head_size)
    rotary,
    relative_buckets,  ///< T5: a bias per head and bucket of (key's position - token's position), in both directions
    /// DeBERTa: with d the row for a distance (token's position - key's position) of a table of relative positions E,
    /// query . key gains query . (W E[d]), key . (W' E[d]) or both.
    disentangled,
  };
  Kind kind = Kind::none;
  double theta = 0;               ///< rotary
  std::int32_t buckets = 0;       ///< relative_buckets, disentangled: half of them for each direction
  std::int32_t max_distance = 0;  ///< relative_buckets, disentangled: beyond it, all distances share a bucket; in the
                                  ///< latter 0: each distance has one of its own, as far as there are some
  double rate = 1;                ///< rotary
  bool content_to_position = false, position_to_content = false;  ///< disentangled: of queries, of keys

  friend bool operator==(const PositionScheme&, const PositionScheme&) = default;
};

enum class NormKind {
  layer,  ///< (x - mean) / sqrt(variance + epsilon) * gamma + beta
  rms,    ///< x / sqrt(mean of x^2 + epsilon) * gamma
};
/// Where a sub-block f normalizes. after: x <- norm(x + f(x)); before: x <- x + f(norm(x)); none: x <- x + f(x).
enum class NormPlacement { after, before, none };

/// What some tokens of one candidate give together.
enum class Pooling {
  mean,
  first,         ///< the first token
  last,          ///< the last token
  all_but_last,  ///< the mean of the others, or the only token
};

/// A group of one token per candidate that has no segments, starts as zero, and gathers by a gate what a candidate
/// makes it look for in other groups. Its query is a projection of its own of a hint. With f the attention's result,
/// x <- g f + (1 - g) x takes the residual connection's place, where g = sigmoid(gate([hint; f; x])).
struct GatedToken {
  std::int32_t group = 0;
  std::int32_t hint_group = 0;  ///< whose inputs to the sub-block are pooled to the hint
  Pooling hint = Pooling::mean;

  friend bool operator==(const GatedToken&, const GatedToken&) = default;
};

/// Multi-head attention. A token's keys and values are projections of the sub-block's input, or, for groups of other
/// stacks, of that stack's output.
struct Attention {
  NormPlacement norm = NormPlacement::after;
  std::int32_t heads = 0;      ///< of queries
  std::int32_t key_heads = 0;  ///< of keys and values, a divisor of `heads`, so that neighbours share one; 0: `heads`
  std::int32_t head_size = 0;
  double scale = 0;  ///< of query . key; usually 1 / sqrt(head_size)
  /// Whether each head's queries and keys pass through an RMSNorm before rotary positions turn them.
  bool norms_heads = false;
  PositionScheme positions = {};
  Views views = {};
  /// If set, groups of earlier stacks show the keys and values that this layer of their own stack computes.
  std::optional<std::int32_t> keys_of_layer = std::nullopt;
  std::optional<GatedToken> gated = std::nullopt;

  /// How many heads share a head of keys and values.
  std::int32_t sharing() const noexcept { return key_heads > 0 ? heads / key_heads : 1; }

  friend bool operator==(const Attention&, const Attention&) = default;
};

/// out(activation(in(x))), or, if gated, out(activation(in(x)) * gate(x)).
struct FeedForward {
  NormPlacement norm = NormPlacement::after;
  std::int32_t size = 0;
  Activation activation = Activation::gelu_erf;
  bool gated = false;

  friend bool operator==(const FeedForward&, const FeedForward&) = default;
};

/// One layer: attentions, then a feed-forward block.
struct Layer {
  std::vector<Attention> attentions;  ///< one after another; one in an encoder, two in a decoder
  FeedForward feed_forward;

  friend bool operator==(const Layer&, const Layer&) = default;
};

/// What may follow a layer: pivots of its groups pass through a layer of their own, in which they see those of other
/// candidates, and every token of a pivot takes up the result: x <- W [x; pivot].
struct Exchange {
  std::vector<std::int32_t> groups;  ///< of pivots
  Layer layer;
  bool combines = true;  ///< otherwise no token changes; the head may read the pivots

  friend bool operator==(const Exchange&, const Exchange&) = default;
};

/// What may follow a stack's first layer: x <- norm(x + activation(sum_k W_k e_k)) with the stack's inputs e_k of the
/// token and of those before and after it in its candidate, by their positions; 0 beyond the ends.
struct Convolution {
  std::int32_t size = 3;  ///< tokens, an odd number: half of the others come before, half after the token
  Activation activation = Activation::tanh;

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// Layers that some groups pass through together. Stacks run in order; a later one may attend to an earlier one.
struct Stack {
  std::vector<std::int32_t> groups;
  std::vector<Layer> layers;
  bool final_norm = false;
  std::vector<Exchange> exchanges = {};  ///< none, or one per layer
  std::optional<Convolution> convolution = std::nullopt;

  friend bool operator==(const Stack&, const Stack&) = default;
};

/// One step of a head: x <- norm(activation(W x) + residual), as far as they are present.
struct HeadStep {
  enum class Residual {
    none,
    input,      ///< x, which has the size of W x
    projected,  ///< another linear map of x
  };
  std::int32_t size = 0;  ///< of W x; 0: there is no W, x stays
  Activation activation = Activation::none;
  Residual residual = Residual::none;
  bool norm = false;
  float norm_epsilon = 0;  ///< of `norm`; 0: the description's

  friend bool operator==(const HeadStep&, const HeadStep&) = default;
};

/// How a head makes one row of a document's pivots of one group, with weights of that group; see PoolingWeights. A
/// group without pivots gives 0.
struct PivotPooling {
  enum class Kind {
    /// So many heads, which share the hidden size.
    /// With states g_n: o = W_O [o_1; ...], where
    /// o_i = sum_n softmax_n((W_K g_n)_i . (W_Q vector)_i) (W_V g_n)_i.
    attention,
    maximum,  ///< of each number
    /// A vector and the pivots behind it pass through layers, in which all see all; what becomes of the vector.
    layers,
  };
  Kind kind = Kind::attention;
  std::int32_t heads = 0;          ///< of attention
  std::vector<Layer> layers = {};  ///< their attentions state no views
  std::int32_t positions = 0;      ///< of layers: rows of a table that are added to the vector and the pivots; 0: none

  friend bool operator==(const PivotPooling&, const PivotPooling&) = default;
};

/// From the last states to the score: some groups' tokens pooled, times `scale`; the steps; and the output rows, or the
/// product with another group's token. Or to the logits of labels, or to vectors, if that is set.
struct Head {
  std::vector<std::int32_t> groups = {};
  Pooling pooling = Pooling::mean;
  /// If set, `groups` are of pivots, and a score is of a document. The first step takes the rows of all groups, one
  /// after the other; without steps there is one group.
  std::optional<PivotPooling> pivots = std::nullopt;
  double scale = 1;
  std::vector<HeadStep> steps = {};
  std::int32_t outputs = 1;  ///< 1: the output is the score; more: the score is the first one's log-softmax
  /// If set, there are no output rows: the score is the dot product with the mean of this group's tokens.
  std::optional<std::int32_t> dot_with = std::nullopt;
  /// With dot_with: that group's first token, as it enters this layer of its stack, takes the mean's place.
  std::optional<std::int32_t> dot_layer = std::nullopt;
  /// With dot_with: `groups` are pooled as they enter their stack.
  bool pools_inputs = false;
  /// With dot_with: of the two operands, e of `groups` and h, the steps and the output rows take [h; e; |h - e|].
  bool compares = false;
  /// There is no score: Backend::score() gives all outputs of each candidate, the logits of its labels.
  bool classifies = false;
  /// Late interaction: there is no score. Backend::encode() gives for each token of a text what the steps make of its
  /// state. If `unit_vectors`, that is divided by its length.
  bool per_token = false, unit_vectors = false;
  /// With per_token: there are no steps, and a text has one vector, its pooled tokens, which is not divided.
  bool per_text = false;

  /// How many numbers Backend::score() gives for a candidate.
  std::size_t logits() const noexcept { return classifies ? static_cast<std::size_t>(outputs) : 1; }

  friend bool operator==(const Head&, const Head&) = default;
};

/// The computation, as data. A model family's reader fills it in; plan.h derives what follows from it. A backend
/// executes it or throws Error `unsupported` naming the feature. A token's input is
/// projection(norm(word + position + type)), as far as they are present.
struct EncoderDescription {
  std::vector<TokenGroup> groups;
  std::int32_t vocabulary_size = 0;
  std::int32_t embedding_size = 0;  ///< if not hidden_size, a projection follows
  std::int32_t hidden_size = 0;
  std::int32_t max_positions = 0;  ///< rows of the position table; 0: none
  std::int32_t token_types = 0;    ///< rows of the token type table; 0: none
  bool embedding_norm = true;
  NormKind norm_kind = NormKind::layer;
  float norm_epsilon = 1e-12F;
  std::vector<Stack> stacks;
  Head head;

  float epsilon_of(const HeadStep& step) const noexcept {
    return step.norm_epsilon > 0 ? step.norm_epsilon : norm_epsilon;
  }
  /// The features that the head's output rows take.
  std::int32_t head_size() const noexcept {
    std::int32_t size = head.compares ? 3 * hidden_size : hidden_size;
    for (const HeadStep& step : head.steps) size = step.size > 0 ? step.size : size;
    return size;
  }

  friend bool operator==(const EncoderDescription&, const EncoderDescription&) = default;
};

/// The patterns of sparse cross-encoders, as flags. The input [CLS] query [SEP] document [SEP] has the groups
/// C = {[CLS]}, Q = query + its [SEP], D = document + its [SEP]. Every group sees itself; the flags state what else
/// it sees. Only D -> D is windowed, so the window never reaches into Q.
/// Source: Schlatt, Froebe, Hagen, ECIR 2024 (arXiv 2312.17649).
struct AttentionPattern {
  bool cls_query = true;
  bool cls_document = true;
  bool query_cls = true;
  bool query_document = true;
  bool document_cls = true;
  bool document_query = true;
  std::optional<std::int32_t> window;  ///< none = unlimited; 0 = each document token sees itself, C and Q

  friend bool operator==(const AttentionPattern&, const AttentionPattern&) = default;
};

/// The groups C, Q and D, whose indices are:
inline constexpr std::int32_t kCls = 0, kQuery = 1, kDocument = 2;
RELUCENT_API std::vector<TokenGroup> cross_encoder_groups();
/// Those of an encoder with interaction: in the place of [CLS] the gated token; the query and the candidate's text,
/// which pass through the first stack; and the candidate's context, the few states derived from its text (kDocument)
/// that pass through the second stack.
inline constexpr std::int32_t kContext = 3;
RELUCENT_API std::vector<TokenGroup> interaction_groups(Derivation::Kind kind, std::int32_t tokens);
/// In its first stack the query and the text see themselves. In its second one the context sees the query and itself,
/// the gated token the query.
RELUCENT_API Views interaction_text_views();
RELUCENT_API Views interaction_views();
RELUCENT_API Views views_of(const AttentionPattern& pattern);

/// The token through which candidates see each other in an encoder of sets, unless it is [CLS].
inline constexpr std::int32_t kInteraction = 3;

/// The groups of late interaction: texts, and the tokens at a query's end that no token sees (Segment::expansion).
inline constexpr std::int32_t kExpansion = 3;
RELUCENT_API std::vector<TokenGroup> late_interaction_groups();
/// A text sees itself; so does its expansion, without seeing itself.
RELUCENT_API Views late_interaction_views(const View& view);

enum class DataType { f32, f16, bf16 };
constexpr std::size_t element_size(DataType type) { return type == DataType::f32 ? 4 : 2; }

/// A non-owning view of a row-major tensor (usually read from a file; see EncoderWeights::storage).
/// The data may be unaligned; null: the tensor is absent.
struct TensorView {
  DataType type = DataType::f32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;

  RELUCENT_API std::size_t elements() const noexcept;
  /// All elements as fp32, exactly (f16 and bf16 are subsets of f32).
  RELUCENT_API std::vector<float> to_f32() const;
};

/// A linear map: x becomes weight x + bias.
struct LinearWeights {
  TensorView weight;  ///< [out, in]
  TensorView bias;    ///< [out], or absent

  /// The bias, zeros if it is absent.
  RELUCENT_API std::vector<float> bias_to_f32() const;
};

/// A norm's scale and shift.
struct NormWeights {
  TensorView gamma;  ///< [size]
  TensorView beta;   ///< [size], or absent

  /// beta, zeros if it is absent.
  RELUCENT_API std::vector<float> beta_to_f32() const;
};

/// The weights of an Attention.
struct AttentionWeights {
  NormWeights norm;
  LinearWeights query;              ///< [heads * head_size, hidden]
  LinearWeights key, value;         ///< [key_heads * head_size, hidden]
  LinearWeights output;             ///< [hidden, heads * head_size]
  TensorView query_norm, key_norm;  ///< [head_size], if the attention norms its heads
  TensorView relative_bias;         ///< [buckets, heads] with relative buckets; layers may share one
  LinearWeights relative_key;       ///< of relative positions, for queries, like `key`; often the same
  LinearWeights relative_query;     ///< of relative positions, for keys, like `query`; often the same
  LinearWeights gated_query;        ///< of a gated token, like `query`
  LinearWeights gate;               ///< of a gated token: [hidden, 3 hidden]; layers may share one
};

/// The weights of a FeedForward.
struct FeedForwardWeights {
  NormWeights norm;
  LinearWeights in;    ///< [size, hidden]
  LinearWeights gate;  ///< the same, if gated
  LinearWeights out;   ///< [hidden, size]
};

/// The weights of a Layer.
struct LayerWeights {
  std::vector<AttentionWeights> attentions;
  FeedForwardWeights feed_forward;
};

/// The weights of an Exchange.
struct ExchangeWeights {
  LayerWeights layer;
  LinearWeights combine;  ///< [hidden, 2 hidden], of the token and the pivot; absent if the exchange does not combine
};

/// The weights of a Stack.
struct StackWeights {
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  std::vector<ExchangeWeights> exchanges = {};
  LinearWeights convolution = {};  ///< [hidden, hidden, size]
  NormWeights convolution_norm = {};
};

/// What pools a group's pivots, as far as its PivotPooling needs it.
struct PoolingWeights {
  TensorView vector;                             ///< [hidden]
  LinearWeights query, key, value, output = {};  ///< of attention: [hidden, hidden]
  std::vector<LayerWeights> layers = {};
  TensorView positions = {};  ///< [positions, hidden]
};

/// The weights of a HeadStep.
struct HeadStepWeights {
  LinearWeights dense = {};     ///< [size, features before]
  LinearWeights residual = {};  ///< the same, if it is projected
  NormWeights norm = {};
};

/// All tensors of an encoder and its head, in the form of its description. Backends copy or convert what they need at
/// construction.
struct EncoderWeights {
  TensorView word_embeddings;        ///< [vocabulary, embedding]
  TensorView position_embeddings;    ///< [max_positions, embedding]
  TensorView token_type_embeddings;  ///< [token_types, embedding]
  NormWeights embedding_norm;
  LinearWeights embedding_projection;  ///< [hidden, embedding]
  TensorView codes;                    ///< [tokens, hidden] of a group derived by codes
  TensorView relative_embeddings;      ///< [buckets, hidden] of disentangled attention
  NormWeights relative_norm;           ///< of `relative_embeddings`, or absent
  std::vector<StackWeights> stacks;
  std::vector<PoolingWeights> head_pooling = {};  ///< one per group of the head, if it pools pivots
  std::vector<HeadStepWeights> head_steps = {};
  LinearWeights head_output;            ///< [outputs, features of the last step]
  std::shared_ptr<const void> storage;  ///< keeps the views' memory alive
};

}  // namespace relucent
