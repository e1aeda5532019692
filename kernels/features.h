// What a description asks of a backend, and which of that the fast paths compute.
#pragma once

#include <cstdint>
#include <vector>

#include "relucent/kernels/encoder.h"

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

}  // namespace relucent
