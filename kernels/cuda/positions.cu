// What lies before and after the attention in encoders that are not BERT: queries and keys turned by their positions,
// the neighbours of tokens, and the mean of a sequence's tokens.
#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kThreads = 128;

// grid: rows. A thread turns 4 pairs of features at a time; the keys' heads follow the queries'.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    rotate_row(const Token* tokens, const float* turns, int heads, int half, T* qkv) {
  wait_for_previous();
  T* const row = qkv + static_cast<std::int64_t>(blockIdx.x) * 6 * half * heads;
  const float* const cosines = turns + static_cast<std::int64_t>(position_of(tokens[blockIdx.x])) * 2 * half;
  const int fours = half / 4;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * heads * fours; i += kThreads) {
    const int feature = i % fours * 4;
    T* const low = row + i / fours * 2 * half + feature;
    float a[4], b[4], cosine[4], sine[4], turned[4];
    load_four(low, a);
    load_four(low + half, b);
    load_four(cosines + feature, cosine);
    load_four(cosines + half + feature, sine);
#pragma unroll
    for (int k = 0; k < 4; ++k) turned[k] = a[k] * cosine[k] - b[k] * sine[k];
    store_four(low, turned);
#pragma unroll
    for (int k = 0; k < 4; ++k) turned[k] = b[k] * cosine[k] + a[k] * sine[k];
    store_four(low + half, turned);
  }
}

// grid: (sequences, packs / kThreads). A thread sums one pack of features over the tokens, in their order.
template <typename T>
__global__ void __launch_bounds__(kThreads) mean_row(PoolWork work, const T* x, int hidden, T* means) {
  wait_for_previous();
  const int feature = static_cast<int>(blockIdx.y * kThreads + threadIdx.x) * kPack<T>;
  if (feature >= hidden) return;
  const int index = static_cast<int>(blockIdx.x);
  const Sequence sequence = work.sequences[index];
  float sums[kPack<T>] = {};
  int tokens = 0;
  const auto add = [&](int first, int count) {
    tokens += count;
    for (int row = first; row < first + count; ++row) {
      float values[kPack<T>];
      load(x + static_cast<std::int64_t>(row) * hidden + feature, values);
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) sums[k] += values[k];
    }
  };
  if (work.cls) add(index, 1);
  if (work.query) add(sequence.query_row, work.query_tokens);
  if (work.document) add(sequence.document_row, sequence.document_tokens);
#pragma unroll
  for (int k = 0; k < kPack<T>; ++k) sums[k] /= static_cast<float>(tokens);
  store(means + static_cast<std::int64_t>(index) * hidden + feature, sums);
}

// grid: (sequences, taps).
template <typename T>
__global__ void __launch_bounds__(kThreads) copy_neighbours(AttentionWork work, const T* x, int hidden, T* taps) {
  wait_for_previous();
  const int index = static_cast<int>(blockIdx.x), tap = static_cast<int>(blockIdx.y),
            size = static_cast<int>(gridDim.y);
  const Sequence sequence = work.sequences[index];
  const int tokens = 1 + work.query_tokens + sequence.document_tokens;
  const auto row = [&](int token) {
    if (token == 0) return index;
    return token <= work.query_tokens ? sequence.query_row + token - 1
                                      : sequence.document_row + token - 1 - work.query_tokens;
  };
  for (int token = 0; token < tokens; ++token) {
    const int other = token + tap - size / 2;
    T* const to = taps + (static_cast<std::int64_t>(row(token)) * size + tap) * hidden;
    const bool exists = other >= 0 && other < tokens;
    const T* const from = x + static_cast<std::int64_t>(row(exists ? other : token)) * hidden;
    for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += kThreads * kPack<T>) {
      const uint4 pack = *reinterpret_cast<const uint4*>(from + i);
      *reinterpret_cast<uint4*>(to + i) = exists ? pack : make_uint4(0, 0, 0, 0);
    }
  }
}

}  // namespace

cudaError_t neighbours(Element element, const AttentionWork& work, const void* x, int hidden, int size, void* taps,
                       cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    const dim3 grid(static_cast<unsigned>(work.sequence_count), static_cast<unsigned>(size));
    return launch(copy_neighbours<T>, grid, dim3(kThreads), 0, stream, work, static_cast<const T*>(x), hidden,
                  static_cast<T*>(taps));
  });
}

cudaError_t rotate(Element element, const Token* tokens, const float* turns, int heads, int half, int rows, void* qkv,
                   cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(rotate_row<T>, dim3(static_cast<unsigned>(rows)), dim3(kThreads), 0, stream, tokens, turns, heads,
                  half, static_cast<T*>(qkv));
  });
}

cudaError_t pool(Element element, const PoolWork& work, const void* x, int hidden, void* means, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    constexpr int features = kThreads * kPack<T>;
    const dim3 grid(static_cast<unsigned>(work.sequence_count),
                    static_cast<unsigned>((hidden + features - 1) / features));
    return launch(mean_row<T>, grid, dim3(kThreads), 0, stream, work, static_cast<const T*>(x), hidden,
                  static_cast<T*>(means));
  });
}

}  // namespace relucent::cuda
