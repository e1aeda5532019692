// The form of encoder that the fast paths compute, and what other encoders need beyond it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "relucent/kernels/backend.h"
#include "relucent/kernels/plan.h"

namespace relucent {

/// A fourth group next to C, Q and D: tokens of the document that see all of it and that every token sees, such as the
/// starts of sentences.
inline constexpr std::int32_t kGlobal = 3;

/// What a description may ask for beyond BERT's form: one stack of post-LN layers of one shape over the groups C, Q and
/// D, with tables for positions and token types, GELU, and tanh between a dense layer and one output.
enum class Feature {
  embedding_projection,
  no_position_table,
  no_token_types,
  no_embedding_norm,
  global_tokens,  ///< the group kGlobal
  other_groups,   ///< not C, Q and D
  interaction,    ///< its whole form: see has_interaction()
  derived_groups,
  gated_tokens,
  exchanges,      ///< between candidates: pivots after each layer, and a head that pools them by attention
  pivots_alone,   ///< a head that pools pivots which no exchange has changed
  pivot_pooling,  ///< of pivots, otherwise than by attention
  decoder,  ///< T5: Q and D pass through the first stack, C through a second one, which sees the first one's output
  causal,   ///< its whole form: see EncoderKind::causal
  set,      ///< its whole form: see EncoderKind::set
  /// Texts by themselves: late interaction, perhaps with an expansion, and one linear map of each token; or their
  /// tokens pooled.
  token_vectors,
  several_stacks,      ///< of another kind
  several_attentions,  ///< in one layer
  keys_of_other_stacks,
  different_layers,  ///< of other sizes than the first
  norm_before,       ///< all sub-blocks, but the first one may have none, and after the last one
  mixed_norms,       ///< neither that nor norms after all sub-blocks
  rms_norm,
  rotary_positions,
  relative_positions,
  disentangled_attention,
  convolution,
  attention_scale,         ///< other than 1 / sqrt(head_size)
  attention_width,         ///< heads * head_size other than hidden_size
  window_beyond_document,  ///< not from D to D
  blind_group,             ///< one that does not see itself
  view_before,
  shared_keys,  ///< of several heads of queries
  head_norms,
  view_across,
  relu,
  silu,
  gelu_tanh,
  gelu_10,
  quick_gelu,
  mish,
  no_activation,
  tanh,
  gated_feed_forward,
  head_of_other_groups,  ///< than [CLS]
  head_pooling,          ///< other than the mean
  head_scale,
  head_steps,  ///< other than a dense layer of the hidden size with tanh
  several_outputs,
  labels,  ///< of other encoders than of pairs and interactions
  dot_head,
};

/// The context of a candidate has at most so many states in the fast paths.
inline constexpr std::int32_t kMostContext = 16;

/// Whether a description has an interaction: BERT's layers over the query and the candidate's text, each by itself;
/// layers of the same sizes in which the candidate's context and a gated token see keys of the query; and the dot
/// product of both.
bool has_interaction(const EncoderDescription& description);

/// The encoders that the fast paths know, as a description's plan tells them apart.
enum class EncoderKind {
  pair,     ///< [CLS], query and document in one stack
  decoder,  ///< Feature::decoder
  /// A decoder alone: Q and D pass through one stack, each token sees those before it, D's tokens all of Q's, and the
  /// head reads D's last token.
  causal,
  /// C, Q, D and perhaps kInteraction see all tokens of their candidate in one post-LN stack, and of each other
  /// candidate one: that of kInteraction, or else of C.
  set,
  interaction,  ///< Feature::interaction
  exchange,     ///< Feature::exchanges, Feature::pivots_alone
  texts,        ///< Feature::token_vectors
};

/// The encoder that computes a description whose features a backend supports.
EncoderKind kind_of(const EncoderDescription& description);

/// The features that `description` needs. Throws whatever make_plan throws.
std::vector<Feature> features_of(const EncoderDescription& description);

/// The backends that compute this form and not, like `ref`, every description.
enum class FastPath { cpu, cuda };

/// Throws Error `unsupported` if `description` needs a feature that the fast path lacks.
void require_features(const EncoderDescription& description, FastPath path);

/// Throw Error `unsupported`: encoders of this kind do not encode texts by themselves, give no scores, or do not show
/// hidden states.
[[noreturn]] void refuse_texts(FastPath path, EncoderKind kind);
[[noreturn]] void refuse_scores(FastPath path, EncoderKind kind);
[[noreturn]] void refuse_hidden_states(FastPath path, EncoderKind kind);

/// An encoder of BERT's form in the terms of the fast paths.
struct PairForm {
  explicit PairForm(const EncoderDescription& description);

  std::size_t heads, head_size, intermediate_size;
  std::size_t sharing;                       ///< heads per head of keys and values
  bool shares_query;                         ///< wherever Q's states are needed, Q sees itself alone, and all of itself
  bool last_sees_query, last_sees_document;  ///< [CLS] in the last layer
  bool last_is_short;  ///< the last layer need compute only [CLS], whose W_K and W_V can leave the sums over tokens
};

/// A batch for an encoder of BERT's form.
struct PairBatch {
  Segment cls, query;              ///< cls: with the token of kInteraction behind it, if there is one
  std::vector<Segment> documents;  ///< tokens of D and, in their places, of kGlobal
  std::vector<std::vector<std::size_t>> globals =
      {};  ///< [documents]: the places in the document of its kGlobal tokens
  std::vector<std::vector<std::int32_t>> merged = {};  ///< what the segments of such documents refer to
  std::span<const DocumentPassages> joined = {};       ///< ScoringBatch::documents
};

/// A batch for an encoder with interaction: the query, and per candidate its text or its context's states.
struct InteractionBatch {
  Segment query;
  std::vector<Segment> texts;        ///< of the candidates without states
  std::vector<const float*> states;  ///< [candidates]; null: the next text

  /// [candidates], the texts' from `encoded` on: [texts][size].
  std::vector<const float*> contexts(const float* encoded, std::size_t size) const;
};

/// Throws Error `unsupported` for segments of other forms.
InteractionBatch interaction_batch(const ScoringBatch& batch);

/// Throws Error: `unsupported` unless the batch has one token of group C, one segment of group Q, and per candidate one
/// of group D and at most one of kGlobal, all with ids, and the positions of segments whose distances matter are
/// consecutive, with a convolution those of the whole input; `usage` for more tokens than the position table has rows.
PairBatch pair_batch(const EncoderDescription& description, const ScoringBatch& batch);

}  // namespace relucent
