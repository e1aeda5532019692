// The kernels as the host calls them. Every function starts work on `stream` and returns the launch's error code.
// Pointers are device memory aligned to 16 bytes; matrices are row-major without gaps unless said otherwise.
// The bits of a row's result depend only on that row's sequence, not on its position or its neighbours.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/element.h"
#include "kernels/cuda/layout.h"

namespace relucent::cuda {

inline constexpr int kMaxHidden = 2048;   ///< features per token; a multiple of 8
inline constexpr int kMaxHeadSize = 128;  ///< a multiple of 8

struct Norm {
  const float* gamma;  ///< [hidden]
  const float* beta;   ///< [hidden]
  float epsilon;
};

struct EmbeddingTables {
  const void* word;      ///< [vocabulary, hidden]
  const void* position;  ///< [max_positions, hidden]
  const void* type;      ///< [token_types, hidden]
};

/// x[rows, hidden] = LN(word + position + type).
cudaError_t embed(Element element, const Token* tokens, const EmbeddingTables& tables, const Norm& norm, int hidden,
                  int rows, void* x, cudaStream_t stream);

/// x = LN(x + y), both [rows, hidden].
cudaError_t add_norm(Element element, const void* y, const Norm& norm, int hidden, int rows, void* x,
                     cudaStream_t stream);

/// x = GELU(x) with erf, of `count` fp32 elements, a multiple of 4.
cudaError_t gelu(float* x, std::int64_t count, cudaStream_t stream);

struct AttentionWork {
  const AttentionTile* tiles;
  int tile_count;
  const Sequence* sequences;
  int query_tokens;
  Pattern pattern;
  int heads, head_size;  ///< hidden = heads * head_size
};

/// context[rows, hidden] = softmax(Q K^T / sqrt(head_size)) V a head, over what each row attends to, for the rows of
/// the tiles. qkv: [rows, 3 * hidden], query, key and value of all heads side by side.
cudaError_t attention(Element element, const AttentionWork& work, const void* qkv, void* context, cudaStream_t stream);

struct LastAttentionWork {
  const Segment* segments;
  int segment_count;
  const Sequence* sequences;  ///< with one extra entry: the end of the last one's segments
  int sequence_count;
  int query_tokens;
  bool sees_query, sees_document;
  int heads, head_size;
};

/// The last layer's attention of [CLS], with W_K and W_V taken out of the sums over tokens:
/// mixed[sequences, heads, hidden] = sum over the tokens t that [CLS] sees of p(t) x[t], p = softmax(absorbed . x[t] /
/// sqrt(head_size)). x: [rows, hidden]; absorbed: [sequences, heads, hidden], W_K^T q; `partial`: fp32
/// [segments, heads, hidden + 2], for the sums of each segment.
cudaError_t last_attention(Element element, const LastAttentionWork& work, const void* x, const void* absorbed,
                           float* partial, void* mixed, cudaStream_t stream);

/// logits[rows] = classifier . tanh(pooled[row] + pooler_bias) + classifier_bias; pooled: fp32 [rows, hidden].
cudaError_t head(const float* pooled, const float* pooler_bias, const float* classifier, const float* classifier_bias,
                 int hidden, int rows, float* logits, cudaStream_t stream);

}  // namespace relucent::cuda
