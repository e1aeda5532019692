// The form of encoder that the fast paths compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/features.h"
#include "relucent/kernels/backend.h"
#include "relucent/kernels/plan.h"

namespace relucent {

/// An encoder of BERT's form in the terms of the fast paths.
struct PairForm {
  explicit PairForm(const EncoderDescription& description);

  std::size_t heads, head_size, intermediate_size;
  std::size_t sharing;                       ///< heads per head of keys and values
  bool shares_query;                         ///< wherever Q's states are needed, Q sees itself alone, and all of itself
  bool last_sees_query, last_sees_document;  ///< [CLS] in the last layer
  bool last_is_short;  ///< the last layer need compute only [CLS], whose W_K and W_V can leave the sums over tokens
  std::size_t
      layers_apart;  ///< Plan::layers_apart(); 0 with norms before sub-blocks, which would see a norm of the next
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
/// of group D and at most one of kGlobal, all with ids, or that of D perhaps with states if `takes_states`, and the
/// positions of segments whose distances matter are consecutive, with a convolution those of the whole input; `usage`
/// for more tokens than the position table has rows.
PairBatch pair_batch(const EncoderDescription& description, const ScoringBatch& batch, bool takes_states = false);

}  // namespace relucent
