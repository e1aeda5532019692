// The layout of a chunk (one query and as many candidates as fit) in device memory, for host and device code.
//
// Rows of every activation matrix, one per token: first the [CLS] of each sequence, then the query (once if it does not
// depend on the candidate, otherwise once per sequence), then the documents, one after another, without padding; the
// global tokens of a document before its other ones. Rows that fill up a small chunk come last.
//
// In a set of candidates that see each other through a token other than [CLS], that token has the row of [CLS], which
// comes before the query.
//
// The token of a decoder comes after the documents, one row per sequence.
//
// Texts by themselves, as those of an encoder with interaction, have neither [CLS] nor query: rows are theirs alone. In
// an interaction a candidate's [CLS] is its gated token, and its document is its context; the documents come before the
// query.
//
// Pivots (ScoringBatch::documents) have activations of their own, a row per pivot: those of a document together, group
// by group, and in a group those that see the same pivots together.
#pragma once

#include <cstdint>

namespace relucent::cuda {

/// The indices of a token's embeddings.
struct alignas(8) Token {
  std::int32_t id;
  std::int32_t position_and_type;  ///< position, and the token type in bit 30
};
inline constexpr int kTypeBit = 30;

/// One candidate. The [CLS] of candidate i is in row i, unless it is a decoder's token.
struct alignas(16) Sequence {
  std::int32_t query_row;        ///< first row of its query
  std::int32_t document_row;     ///< first row of its document
  std::int32_t document_tokens;  ///< without a text's expansion, which has rows behind it
  std::int32_t first_segment;    ///< of its Segments
};

enum Group : std::int32_t { kCls = 0, kQuery = 1, kDocument = 2, kGlobal = 3 };

/// Up to kTileRows tokens of one group of one sequence, or pivots that see the same ones, whose attention one block
/// computes for one head.
struct alignas(16) AttentionTile {
  std::int32_t row;                 ///< of its first token
  std::int32_t tokens;              ///< 1 .. kTileRows; 0: nothing is computed
  std::int32_t index;               ///< of its first token within the group; of [CLS]: of this part of its keys;
                                    ///< of pivots: of what they see, in a list
  std::int32_t sequence_and_group;  ///< 4 * sequence + Group; of pivots: how many they see
};
inline constexpr int kTileRows = 64;
inline constexpr int kPartTokens = 256;  ///< of a document, per tile of a [CLS] that has several

/// Up to kSegmentSlots of the tokens that one [CLS] attends to in the last layer, in the order [CLS], query, document;
/// or a decoder's token in each of its layers, without itself.
struct alignas(16) Segment {
  std::int32_t sequence;
  std::int32_t slot;   ///< of its first token
  std::int32_t slots;  ///< 1 .. kSegmentSlots; 0: nothing is computed
  std::int32_t unused;
};
inline constexpr int kSegmentSlots = 64;

/// The rows of a pivot's tokens, in a list.
struct alignas(8) Pivot {
  std::int32_t first, count;
};
/// One of these rows, and the pivot's.
struct alignas(8) PivotToken {
  std::int32_t row, pivot;
};
/// The pivots of one document and group of the head.
struct alignas(8) PivotRange {
  std::int32_t first, count;
};

/// The views of a layer in the kernels' form. Global tokens have those of D, but no window between them and D.
struct Pattern {
  std::uint32_t sees;       ///< bit 3 * from + to: Group `from` attends to Group `to`
  std::int32_t window;      ///< of D -> D; -1: unlimited
  bool by_position;         ///< there are other windows than that: see `windows`
  bool globals;             ///< documents may have global tokens
  bool across;              ///< every token that sees a [CLS] sees those of all sequences
  bool linked;              ///< tiles are of pivots; nothing else counts
  std::int32_t windows[9];  ///< [3 * from + to], distances between positions; -1: unlimited
};

}  // namespace relucent::cuda
