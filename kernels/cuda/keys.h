// Which tokens one tile of the attention attends to, as a list of slots. Device code only.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/kernels.h"

namespace relucent::cuda {

/// The slots: [CLS] and the query if the tile's group sees them, padded to a multiple of 16; then the document's tokens
/// starting at `first`. A window may exclude tokens at the document's start and end.
struct Keys {
  int cls_row, query_row, document_row;
  int cls, global, padded;  ///< slots of [CLS] (0 or 1); with the query; padded
  int first, end;           ///< tokens of the document; `first` may be a little below 0
  int slots;                ///< all of them, a multiple of 16

  __device__ Keys(const AttentionWork& work, const AttentionTile& tile) {
    const int index = tile.sequence_and_group / 4;
    const Sequence sequence = work.sequences[index];
    const unsigned sees = work.pattern.sees >> 3 * (tile.sequence_and_group % 4);
    cls_row = index, query_row = sequence.query_row, document_row = sequence.document_row;
    cls = static_cast<int>(sees >> kCls & 1U);
    global = cls + ((sees >> kQuery & 1U) != 0 ? work.query_tokens : 0);
    padded = (global + 15) / 16 * 16;
    first = 0;
    end = (sees >> kDocument & 1U) != 0 ? sequence.document_tokens : 0;
    if (windowed(work, tile)) {
      first = tile.index - work.pattern.window;
      if (first < 0) first += -first / 16 * 16;
      const int seen_end = tile.index + tile.tokens + work.pattern.window;
      if (seen_end < end) end = seen_end;
    }
    slots = padded + (end - first + 15) / 16 * 16;
  }

  __device__ static bool windowed(const AttentionWork& work, const AttentionTile& tile) {
    return tile.sequence_and_group % 4 == kDocument && work.pattern.window >= 0;
  }

  /// The row of a slot's token, -1 if it has none.
  __device__ int row(int slot) const {
    if (slot < cls) return cls_row;
    if (slot < global) return query_row + slot - cls;
    const int token = first + slot - padded;
    return slot >= padded && token >= 0 && token < end ? document_row + token : -1;
  }
};

}  // namespace relucent::cuda
