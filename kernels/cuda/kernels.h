// The kernels as the host calls them. Every function starts work on `stream` and returns the launch's error code.
// Pointers are device memory aligned to 16 bytes; matrices are row-major without gaps unless stated otherwise.
// The bits of a row's result depend only on that row's sequence, not on its position or its neighbours.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/element.h"
#include "kernels/cuda/layout.h"
#include "relucent/kernels/activation.h"

namespace relucent::cuda {

inline constexpr int kMaxHidden = 2048;   ///< features per token; a multiple of 8
inline constexpr int kMaxHeadSize = 128;  ///< a multiple of 8

__host__ __device__ inline std::int32_t position_of(const Token& token) {
  return token.position_and_type & ((1 << kTypeBit) - 1);
}

/// Blocks among which the keys that a [CLS] sees are divided: one per kPartTokens tokens of its document, so a document
/// of fewer than 2 * kPartTokens has one. It depends on nothing else, since the order of sums does.
__host__ __device__ inline int cls_parts(int document_tokens) {
  return document_tokens < 2 * kPartTokens ? 1 : document_tokens / kPartTokens;
}

struct Norm {
  const float* gamma;  ///< [hidden]; null: no norm
  const float* beta;   ///< [hidden]
  float epsilon;
  bool rms = false;  ///< RMSNorm: the mean is not subtracted
};

struct EmbeddingTables {
  const void* word;      ///< [vocabulary, size]
  const void* position;  ///< [max_positions, size]; null: none
  const void* type;      ///< [token_types, size]; null: none
};

/// x[rows, size] = LN(word + position + type), or the sum itself without a norm. x is of type `sums`: the tables' or
/// fp32.
cudaError_t embed(Element element, Element sums, const Token* tokens, const EmbeddingTables& tables, const Norm& norm,
                  int size, int rows, void* x, cudaStream_t stream);

/// x = LN(x + y), both [rows, hidden].
cudaError_t add_norm(Element element, const void* y, const Norm& norm, int hidden, int rows, void* x,
                     cudaStream_t stream);

/// What is added to residuals: y [rows, hidden] and, unless it is null, bias [hidden].
struct Added {
  const void* y;  ///< null: nothing is added
  const void* bias;
};

/// x += added, then normed = LN(x), all [rows, hidden]. x and y are of type `sums`: that of normed and of the bias, or
/// fp32.
cudaError_t add_then_norm(Element element, Element sums, const Added& added, const Norm& norm, int hidden, int rows,
                          void* x, void* normed, cudaStream_t stream);

/// Turns the queries and keys of qkv [rows, 3 * 2 * half * heads] by their tokens' positions: the pair of features i
/// and i + half of each head. turns: [positions, 2, half], cosines and sines; half: a multiple of 4.
cudaError_t rotate(Element element, const Token* tokens, const float* turns, int heads, int half, int rows, void* qkv,
                   cudaStream_t stream);

struct PoolWork {
  const Sequence* sequences;
  int sequence_count;
  int query_tokens;
  bool cls, query, document;  ///< the groups
};

/// means[sequences, hidden]: of the rows of x [rows, hidden] that belong to the groups.
cudaError_t pool(Element element, const PoolWork& work, const void* x, int hidden, void* means, cudaStream_t stream);

/// x[rows, size] = activation(x). If gated, a row is x and its gate side by side, [rows, 2 * size], and x becomes
/// activation(x) * gate. size: a multiple of 8.
cudaError_t activate(Element element, Activation activation, bool gated, void* x, int size, int rows,
                     cudaStream_t stream);

/// What the distance of two positions, the token's less the key's, adds to a product of query and key: a bias, or the
/// terms of disentangled attention. All of it is null without it. Distances beyond `reach` count as `reach`.
struct RelativeWork {
  const void *of_queries, *of_keys;         ///< [rows, heads, buckets]: products with relative positions; null: none
  const std::int32_t* buckets_by_distance;  ///< [2 * reach + 1], from -reach on
  int reach, buckets;
  const float* biases;  ///< [heads, 2 * reach + 1], from -reach on; null: none
};

struct AttentionWork {
  const AttentionTile* tiles;
  int tile_count;
  const Sequence* sequences;
  int sequence_count;
  const Token* tokens;
  const std::int32_t* seen;  ///< of pivots: the rows that tiles name
  int query_tokens;
  Pattern pattern;
  int heads, head_size;  ///< hidden = heads * head_size, here
  int split_sequences;   ///< if any [CLS] has several tiles, see cls_parts(): the sequences; otherwise 0
  RelativeWork relative;
  float scale;  ///< of the products of queries and keys
  void* parts;  ///< [rows, hidden], for the sums of these tiles; written over; null if there are none
};

/// context[rows, hidden] = softmax(scale (Q K^T + what `relative` adds)) V per head, over what each row attends to, for
/// the rows of the tiles. qkv: [rows, 3 * hidden], query, key and value of all heads side by side.
cudaError_t attention(Element element, const AttentionWork& work, const void* qkv, void* context, cudaStream_t stream);
/// The same in fp32 throughout, for the exact path: no tensor cores.
cudaError_t exact_attention(const AttentionWork& work, const float* qkv, float* context, cudaStream_t stream);

/// taps[rows, size, hidden]: of each token the rows of x of the `size` tokens around it, in the order of its sequence;
/// 0 beyond its ends. Documents without global tokens.
cudaError_t neighbours(Element element, const AttentionWork& work, const void* x, int hidden, int size, void* taps,
                       cudaStream_t stream);

struct LastAttentionWork {
  const Segment* segments;
  int segment_count;
  const Sequence* sequences;  ///< with one extra entry: the end of the last one's segments
  int sequence_count;
  int query_tokens;
  bool sees_itself, sees_query, sees_document;  ///< itself: it has the row of the sequence's number in x
  int heads, hidden;
  float scale;
};

/// The attention of one token per sequence, [CLS] in the last layer or a decoder's token, with W_K and W_V taken out of
/// the sums over tokens: mixed[sequences, heads, hidden] = sum over the tokens t that it sees of p(t) x[t], p =
/// softmax(scale absorbed . x[t]). x: [rows, hidden]; absorbed: [sequences, heads, hidden], W_K^T q; `partial`: fp32
/// [segments, heads, hidden + 2], for the sums of each segment.
cudaError_t last_attention(Element element, const LastAttentionWork& work, const void* x, const void* absorbed,
                           float* partial, void* mixed, cudaStream_t stream);

struct HeadStepWork {
  const float* dense;  ///< [rows, size], without `bias`; null: x is the states
  const float* bias;   ///< [size]
  Activation activation;
  bool adds_states;            ///< to the activation's result
  const float* residual;       ///< [rows, size], also added; null: none
  const float* residual_bias;  ///< [size]
  Norm norm;
};

/// y[rows] = norm(activation(x[row] + bias) + what is added). states: [rows, the features before], y: [rows, size];
/// they do not overlap.
cudaError_t head_step(Element element, const HeadStepWork& work, const void* states, int size, int rows, void* y,
                      cudaStream_t stream);

struct HeadWork {
  const float* bias;  ///< of the dense layer before, [hidden]; null: none
  Activation activation;
  Norm norm;
  int outputs;
  const float* output;       ///< [outputs, hidden]
  const float* output_bias;  ///< [outputs]
  bool classifies;
};

/// logits[rows] = output . LN(activation(states[row] + bias)) + output_bias, or, of several outputs, the first one's
/// log-softmax; if it classifies, all outputs, [rows, outputs]. states: [rows, hidden].
cudaError_t head(Element element, const HeadWork& work, const void* states, int hidden, int rows, float* logits,
                 cudaStream_t stream);

/// vectors[rows, size] += bias, then each row is divided by its length if `unit`.
cudaError_t finish_vectors(const float* bias, bool unit, int size, int rows, float* vectors, cudaStream_t stream);

/// With interaction. contexts[sequences, tokens, hidden]: the first rows of each text in x [rows, hidden]; or, for each
/// of the codes c [tokens, hidden], sum_t softmax_t(c . x[t]) x[t] over the text's rows. codes: null if there are none.
cudaError_t derive(Element element, const Sequence* sequences, int sequence_count, int tokens, const float* codes,
                   const void* x, int hidden, void* contexts, cudaStream_t stream);

/// Some tokens of each candidate's context, whose mean is taken.
struct ContextPool {
  int candidates;
  int tokens;        ///< of each context; they lie behind `candidates` gated tokens in x
  int first, count;  ///< of those that are pooled
};

/// What a gate reads: gate_input[candidates, 3 * hidden] = [hint; not written; gated token], the hint being the pooled
/// context, of x [candidates * (1 + tokens), hidden].
cudaError_t gate_input(Element element, const ContextPool& pool, const void* x, int hidden, void* gate_input,
                       cudaStream_t stream);

/// y[candidates, hidden] = sigmoid(gate) * (f - gated token), for gate_input [candidates, 3 * hidden] = [hint; f; gated
/// token]: what turns the token into g f + (1 - g) token.
cudaError_t pass_gate(Element element, const void* gate, const void* gate_input, int hidden, int candidates, void* y,
                      cudaStream_t stream);

/// What each candidate's pooled context meets in the head: tokens + candidate * stride, [hidden].
struct MetTokens {
  const void* tokens;
  int stride;  ///< elements; 0: one token for all
};

/// logits[candidates] = pooled context . token.
cudaError_t dot_head(Element element, const ContextPool& pool, const void* x, const MetTokens& met, int hidden,
                     float* logits, cudaStream_t stream);

/// features[candidates, 3 * hidden] = [token; pooled context; the absolute values of their difference].
cudaError_t compare(Element element, const ContextPool& pool, const void* x, const MetTokens& met, int hidden,
                    void* features, cudaStream_t stream);

/// states[pivots, hidden] = the mean of the pivot's tokens' rows of x.
cudaError_t gather_pivots(Element element, const Pivot* pivots, const PivotToken* tokens, int pivot_count,
                          const void* x, int hidden, void* states, cudaStream_t stream);

/// both[tokens, 2 * hidden] = [the token's row of x; its pivot's of states].
cudaError_t pair_with_pivots(Element element, const PivotToken* tokens, int token_count, const void* x,
                             const void* states, int hidden, void* both, cudaStream_t stream);

/// The tokens' rows of x = rows[tokens, hidden].
cudaError_t put_back(Element element, const PivotToken* tokens, int token_count, const void* rows, int hidden, void* x,
                     cudaStream_t stream);

struct PivotHeadWork {
  const PivotRange* ranges;  ///< [documents, groups]
  int documents, groups, heads;
  const float* vectors;  ///< [groups, heads, 2, hidden]: u and z
  const float* biases;   ///< [groups + 1]: of groups that are not empty; of every score
};

/// logits[documents] = the sum over groups and heads of sum_n softmax_n(u . states[n]) (z . states[n]), and biases.
cudaError_t pivot_head(Element element, const PivotHeadWork& work, const void* states, int hidden, float* logits,
                       cudaStream_t stream);

}  // namespace relucent::cuda
