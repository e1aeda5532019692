// Where an encoder's matrices lie in a workspace's activations. Host code.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/cuda/encoder.h"

namespace relucent::cuda {

inline std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

inline std::int32_t as_int(std::size_t value) { return static_cast<std::int32_t>(value); }

/// x [rows, hidden]: the activations that each layer updates; wide: query, key, value [rows, 3 * hidden] followed by
/// the context [rows, hidden], or the intermediate [rows, wide], or embeddings before their projection
/// [rows, embedding]; y [rows, hidden]: what a kernel adds to x; normed [rows, hidden]: the sub-blocks' input if norms
/// come before them, otherwise x itself; kept [interaction layers, longest query, 3 * hidden]: the query of an
/// interaction.
struct Encoder::Places {
  Places(const Encoder& e, std::byte* base, const ChunkSize& size) {
    const std::size_t row = e.row_bytes();
    kept = base;
    x = kept + aligned(e.interaction_.size() * as_size(e.longest_) * 3 * row);
    normed = e.norms_before_ ? x + aligned(size.rows * row) : x;
    wide = normed + aligned(size.rows * row);
    context = wide + aligned(3 * size.rows * row);
    const std::size_t widest = size.rows * static_cast<std::size_t>(std::max(e.wide_, e.embedding_));
    y = wide + std::max(aligned(3 * size.rows * row) + aligned(size.rows * row), aligned(widest * size_of(e.element_)));
    end = y + aligned(size.rows * row);
  }

  std::byte *kept, *x, *normed, *wide, *context, *y, *end;
};

/// The last layer's matrices for [CLS] alone, in the memory of `wide`. All but `partial` have one row per sequence.
struct Encoder::LastPlaces {
  LastPlaces(const Encoder& e, std::byte* base, const ChunkSize& size) {
    const std::size_t hidden = static_cast<std::size_t>(e.hidden_), heads = static_cast<std::size_t>(e.heads_);
    const std::size_t row = size.sequences * hidden;
    std::byte* next = base;
    const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
    query = take(row * size_of(e.element_));
    absorbed = take(row * heads * size_of(e.element_));
    partial = reinterpret_cast<float*>(take(size.segments * heads * (hidden + 2) * sizeof(float)));
    mixed = take(row * heads * size_of(e.element_));
    context = take(row * size_of(e.element_));
    wide = take(size.sequences * static_cast<std::size_t>(e.wide_) * size_of(e.element_));
    y = take(row * size_of(e.element_));
    pooled = reinterpret_cast<float*>(take(row * sizeof(float)));
    logits = reinterpret_cast<float*>(take(size.sequences * sizeof(float)));
    end = next;
  }

  std::byte *query, *absorbed, *mixed, *context, *wide, *y, *end;
  float *partial, *pooled, *logits;
};

/// For an encoder with interaction: contexts [texts, context, hidden] in the memory of `wide`; behind everything else,
/// of the interaction, gate_input [candidates, 3 * hidden], gate [candidates, hidden] and the logits.
struct Encoder::InteractionPlaces {
  InteractionPlaces(const Encoder& e, const Places& places, const ChunkSize& size) {
    const std::size_t row = size.sequences * e.row_bytes();
    contexts = places.wide;
    gate_input = places.end;
    gate = gate_input + aligned(3 * row);
    logits = reinterpret_cast<float*>(gate + aligned(row));
    end = std::max(gate + aligned(row) + aligned(size.sequences * sizeof(float)),
                   contexts + aligned(e.context_tokens() * row));
  }

  std::byte *contexts, *gate_input, *gate, *end;
  float* logits;
};

/// Of an encoder with exchanges, in the memory of `wide`: what the pivots' layer needs; both [tokens, 2 * hidden]: the
/// pivots' tokens beside their pivots; combined [tokens, hidden]; and the logits.
struct Encoder::PivotPlaces {
  PivotPlaces(const Encoder& e, std::byte* base, const ChunkSize& size) : layer(e, base, {.rows = size.pivots}) {
    both = layer.end;
    combined = both + aligned(size.pivot_tokens * 2 * e.row_bytes());
    logits = reinterpret_cast<float*>(combined + aligned(size.pivot_tokens * e.row_bytes()));
    end = combined + aligned(size.pivot_tokens * e.row_bytes()) + aligned(size.documents * sizeof(float));
  }

  Places layer;
  std::byte *both, *combined, *end;
  float* logits;
};

}  // namespace relucent::cuda
