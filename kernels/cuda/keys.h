// Which tokens some consecutive rows of one tile of the attention attend to, as a list of slots: [CLS] and the query as
// far as they are seen, then the document's tokens. Device code only.
//
// Every kind of list has:
//   slots                   how many
//   row(slot)               the row of the slot's token
//   seen_from(work, index)  a function of a slot: whether the token `index` of the tile's group sees the slot's token;
//                           false from `slots` on
//   sees_all(slot, count)   whether all of the rows see the `count` slots from `slot` on; it may be false although they
//                           do
// `index` counts from the tile's own, whatever that is.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"

namespace relucent::cuda {

/// The part of its keys that a tile walks over: all of them, unless it is one of several tiles of a [CLS].
struct KeyPart {
  int first, end;  ///< chunks

  __device__ KeyPart(const AttentionWork& work, const AttentionTile& tile, int slots, int chunk) {
    const int chunks = (slots + chunk - 1) / chunk, parts = count(work, tile);
    first = parts == 1 ? 0 : chunks * tile.index / parts;
    end = parts == 1 || tile.index + 1 == parts ? chunks : chunks * (tile.index + 1) / parts;
  }

  /// Where the tile's sums go, [heads, head_size + 2]: features, highest score, total. Null if it has all keys.
  __device__ static float* sums(const AttentionWork& work, const AttentionTile& tile) {
    if (count(work, tile) == 1) return nullptr;
    return sums(work, work.sequences[tile.sequence_and_group / 4], tile.index);
  }
  /// In the place of the tokens that the part is named after, whose rows are large enough.
  __device__ static float* sums(const AttentionWork& work, const Sequence& sequence, int part) {
    const std::int64_t row = sequence.document_row + static_cast<std::int64_t>(part) * kPartTokens;
    return static_cast<float*>(work.parts) + row * (work.heads * work.head_size / 2);
  }

 private:
  __device__ static int count(const AttentionWork& work, const AttentionTile& tile) {
    if (work.split_sequences == 0 || tile.sequence_and_group % 4 != kCls) return 1;
    return cls_parts(work.sequences[tile.sequence_and_group / 4].document_tokens);
  }
};

/// Where at most the document has a window on itself.
struct Keys {
  int cls_row, query_row, document_row;  ///< the row of the token in a slot is this + slot
  int cls, global;                       ///< slots of [CLS] (0 or 1, or one per sequence); with the query
  int slots;
  int window;  ///< of these rows on the document; beyond any distance if there is none
  int first;   ///< the document's token in a slot is first + slot

  __device__ Keys(const AttentionWork& work, const AttentionTile& tile) {
    const int index = tile.sequence_and_group / 4;
    const Sequence sequence = work.sequences[index];
    const unsigned sees = work.pattern.sees >> 3 * (tile.sequence_and_group % 4);
    cls_row = index;
    cls = static_cast<int>(sees >> kCls & 1U);
    if (work.pattern.across) cls_row = 0, cls *= work.sequence_count;
    global = cls + ((sees >> kQuery & 1U) != 0 ? work.query_tokens : 0);
    query_row = sequence.query_row - cls;
    int token = 0, end = (sees >> kDocument & 1U) != 0 ? sequence.document_tokens : 0;
    window = kNoWindow;
    if (tile.sequence_and_group % 4 == kDocument && work.pattern.window >= 0) {
      window = work.pattern.window;
      if (tile.index > window) token = tile.index - window;
      const int seen_end = tile.index + tile.tokens + window;
      if (seen_end < end) end = seen_end;
    }
    slots = global + (end > token ? end - token : 0);
    first = token - global;
    document_row = sequence.document_row + first;
  }

  __device__ int row(int slot) const {
    return slot + (slot < cls ? cls_row : slot < global ? query_row : document_row);
  }

  __device__ auto seen_from(const AttentionWork&, int index) const {
    int low = index - window - first, high = index + window + 1 - first;
    if (low < global) low = global;
    if (high > slots) high = slots;
    // Without a branch, since every score asks.
    return [global = global, low, count = static_cast<unsigned>(high > low ? high - low : 0)](int slot) {
      return (slot < global) | (static_cast<unsigned>(slot - low) < count);
    };
  }

  __device__ bool sees_all(int slot, int count) const { return slot + count <= (window == kNoWindow ? slots : global); }

 private:
  static constexpr int kNoWindow = 1 << (kTypeBit - 1);
};

/// Where there may be a window between any two groups, as a distance between positions. Only tokens that some token of
/// the tile can see have slots.
struct KeysByPosition {
  struct List {
    int window;
    int row;     ///< the row of the token in a slot is row + slot
    int offset;  ///< the distance between the token `index` and the token in a slot is offset + index - slot
  };
  List in_cls, in_query, in_document;
  int cls, global;  ///< slots of [CLS] (0 or 1); with the query
  int slots;

  __device__ KeysByPosition(const AttentionWork& work, const AttentionTile& tile) {
    const int index = tile.sequence_and_group / 4, from = tile.sequence_and_group % 4;
    const Sequence sequence = work.sequences[index];
    const int low = position_of(work.tokens[tile.row]), high = low + tile.tokens - 1;  // positions
    // The slots from `slot` on of a group's tokens that are seen; returns their end. `count` tokens from `row` on.
    const auto put = [&](Group to, int row, int count, int slot, List& list) {
      const Pattern& pattern = work.pattern;
      list.window = from == kCls     ? pattern.windows[to]
                    : from == kQuery ? pattern.windows[3 + to]
                                     : pattern.windows[6 + to];
      if (list.window < 0) list.window = 1 << kTypeBit;  // beyond any position
      const int position = position_of(work.tokens[row]);
      int first = low - list.window - position, past = high + list.window + 1 - position;
      if (first < 0) first = 0;
      if (past > count) past = count;
      list.row = row + first - slot;
      list.offset = low - tile.index - position - first + slot;
      return (pattern.sees >> (3 * from + to) & 1U) != 0 && past > first ? slot + past - first : slot;
    };
    cls = put(kCls, index, 1, 0, in_cls);
    global = put(kQuery, sequence.query_row, work.query_tokens, cls, in_query);
    slots = put(kDocument, sequence.document_row, sequence.document_tokens, global, in_document);
  }

  __device__ int row(int slot) const {
    return slot + (slot < cls ? in_cls.row : slot < global ? in_query.row : in_document.row);
  }

  __device__ auto seen_from(const AttentionWork&, int index) const {
    return [this, index](int slot) {
      const int window = slot < cls ? in_cls.window : slot < global ? in_query.window : in_document.window;
      const int offset = slot < cls ? in_cls.offset : slot < global ? in_query.offset : in_document.offset;
      const int distance = offset + index - slot;
      return slot < slots && distance <= window && -distance <= window;
    };
  }

  __device__ bool sees_all(int, int) const { return false; }
};

/// The same where distances between positions add to the products, with or without windows.
struct KeysRelative : KeysByPosition {
  __device__ KeysRelative(const AttentionWork& work, const AttentionTile& tile) : KeysByPosition(work, tile) {}

  /// What the distance of the token `index` of the tile's group, in row `own_row`, from a slot's token adds to their
  /// product. The slot must have a token.
  template <typename T>
  __device__ float relative(const AttentionWork& work, int head, int own_row, int slot, int index) const {
    const RelativeWork& of = work.relative;
    const int offset = slot < cls ? in_cls.offset : slot < global ? in_query.offset : in_document.offset;
    int distance = offset + index - slot;
    if (distance > of.reach) distance = of.reach;
    if (distance < -of.reach) distance = -of.reach;
    if (of.biases != nullptr) return of.biases[head * (2 * of.reach + 1) + distance + of.reach];
    const int bucket = of.buckets_by_distance[distance + of.reach];
    const auto term = [&](const void* terms, int row_of_terms) {
      if (terms == nullptr) return 0.0F;
      const std::int64_t at = (static_cast<std::int64_t>(row_of_terms) * work.heads + head) * of.buckets + bucket;
      return to_float(static_cast<const T*>(terms)[at]);
    };
    return term(of.of_queries, own_row) + term(of.of_keys, row(slot));
  }
};

/// Where documents may have global tokens. A tile of a document's other tokens has the global ones before them; any
/// other tile sees the whole document as one list. Windows are distances between positions.
struct KeysWithGlobals {
  int cls_row, query_row, global_row, document_row;  ///< document_row: without the global tokens before it
  int cls, query, global;                            ///< slots of [CLS] (0 or 1); with the query; the global tokens
  int first;                                         ///< the document's token in slot `global`
  int slots;
  int own_row, last_row;              ///< the row of the token `index` is own_row + index; of the tile's last token
  int in_cls, in_query, in_document;  ///< windows; -1: unlimited

  __device__ KeysWithGlobals(const AttentionWork& work, const AttentionTile& tile) {
    const int index = tile.sequence_and_group / 4, group = tile.sequence_and_group % 4;
    const Sequence sequence = work.sequences[index];
    const Pattern& pattern = work.pattern;
    const unsigned sees = pattern.sees >> 3 * (group == kGlobal ? kDocument : group);
    own_row = tile.row - tile.index, last_row = tile.row + tile.tokens - 1;
    cls_row = index, query_row = sequence.query_row, global_row = sequence.document_row;
    const int globals = group == kDocument ? own_row - global_row : 0;
    document_row = global_row + globals;
    cls = static_cast<int>(sees >> kCls & 1U);
    query = cls + ((sees >> kQuery & 1U) != 0 ? work.query_tokens : 0);
    global = query + globals;
    in_cls = group == kQuery ? pattern.windows[3 * kQuery + kCls] : -1;
    in_query = group == kCls     ? pattern.windows[3 * kCls + kQuery]
               : group == kQuery ? pattern.windows[3 * kQuery + kQuery]
                                 : -1;
    in_document = group == kDocument ? pattern.window : -1;
    first = 0;
    int end = (sees >> kDocument & 1U) != 0 ? sequence.document_tokens - globals : 0;
    if (in_document >= 0) {
      // Tokens are at least as far from each other as their rows.
      if (tile.index > in_document) first = tile.index - in_document;
      const int seen_end = tile.index + tile.tokens + in_document;
      if (seen_end < end) end = seen_end;
    }
    slots = global + (end > first ? end - first : 0);
  }

  __device__ int row(int slot) const {
    if (slot < cls) return cls_row + slot;
    if (slot < query) return query_row + slot - cls;
    if (slot < global) return global_row + slot - query;
    return document_row + first + slot - global;
  }

  __device__ auto seen_from(const AttentionWork& work, int index) const {
    const int own = own_row + index < last_row ? own_row + index : last_row;
    return [this, tokens = work.tokens, position = position_of(work.tokens[own])](int slot) {
      const int window = slot < cls ? in_cls : slot < query ? in_query : slot < global ? -1 : in_document;
      if (window < 0 || slot >= slots) return slot < slots;
      const int distance = position - position_of(tokens[row(slot)]);
      return distance <= window && -distance <= window;
    };
  }

  __device__ bool sees_all(int, int) const { return false; }
};

/// The pivots that a tile's pivots see.
struct KeysLinked {
  const std::int32_t* seen;
  int slots;

  __device__ KeysLinked(const AttentionWork& work, const AttentionTile& tile)
      : seen(work.seen + tile.index), slots(tile.sequence_and_group) {}

  __device__ int row(int slot) const { return seen[slot]; }
  __device__ auto seen_from(const AttentionWork&, int) const {
    return [slots = slots](int slot) { return slot < slots; };
  }
  __device__ bool sees_all(int slot, int count) const { return slot + count <= slots; }
};

}  // namespace relucent::cuda
