// What a description asks of a backend, and which of that the fast paths compute.
#pragma once

#include <cstdint>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// A fourth group next to C, Q and D: tokens of the document that see all of it and that every token sees, such as the
/// starts of sentences.
inline constexpr std::int32_t kGlobal = 3;

/// The context of a candidate has at most so many states in the fast paths.
inline constexpr std::int32_t kMostContext = 16;

/// Whether a description has an interaction: BERT's layers over the query and the candidate's text, each by itself;
/// layers of the same sizes in which the candidate's context and a gated token see keys of the query; and the dot
/// product of both.
bool has_interaction(const EncoderDescription& description);

/// The encoders that the fast paths know, as a description's plan tells them apart.
enum class EncoderKind {
  pair,  ///< [CLS], query and document in one stack
  /// T5: Q and D pass through the first stack, C through a second one, which sees the first one's output.
  decoder,
  /// A decoder alone: Q and D pass through one stack, each token sees those before it, D's tokens all of Q's, and the
  /// head reads D's last token.
  causal,
  /// C, Q, D and perhaps kInteraction see all tokens of their candidate in one post-LN stack, and of each other
  /// candidate one: that of kInteraction, or else of C.
  set,
  interaction,  ///< see has_interaction()
  /// Documents in passages: pivots of candidates meet after each layer, or only in the head that pools them.
  exchange,
  /// Texts by themselves: late interaction, perhaps with an expansion, and one linear map of each token; or their
  /// tokens pooled.
  texts,
};

/// The encoder that computes a description whose features a backend supports.
EncoderKind kind_of(const EncoderDescription& description);

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
