// Interaction: contexts from texts, and what a gated token does apart from attention.
#include <cmath>

#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kTokens = 32;  // of a text, whose weights are computed at a time
// Blocks of derive_token() that a multiprocessor must have room for: ptxas wants more by itself and spills for that.
constexpr int kLeastBlocks = 4;

// grid: (sequences, tokens of the context). Threads hold the sums of features thread, thread + kThreads, ...
template <typename T>
__global__ void __launch_bounds__(kThreads, kLeastBlocks)
    derive_token(const Sequence* sequences, const float* codes, const T* x, int hidden, T* contexts) {
  wait_for_previous();
  float* const scores = reinterpret_cast<float*>(shared_memory());  // of kTokens
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const Sequence sequence = sequences[blockIdx.x];
  const T* const text = x + static_cast<std::int64_t>(sequence.document_row) * hidden;
  T* const to = contexts + (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * hidden;
  if (codes == nullptr) {
    for (int i = thread; i < hidden; i += kThreads) to[i] = text[static_cast<std::int64_t>(blockIdx.y) * hidden + i];
    return;
  }
  const float* const code = codes + static_cast<std::int64_t>(blockIdx.y) * hidden;
  float highest = -INFINITY, total = 0, sums[kMaxHidden / kThreads] = {};
  for (int first = 0; first < sequence.document_tokens; first += kTokens) {
    const int left = sequence.document_tokens - first, count = left < kTokens ? left : kTokens;
    for (int token = warp; token < count; token += kWarps) {
      const T* const row = text + static_cast<std::int64_t>(first + token) * hidden;
      float product = 0;
      for (int i = lane; i < hidden; i += 32) product = fmaf(code[i], to_float(row[i]), product);
      product = warp_sum(product);
      if (lane == 0) scores[token] = product;
    }
    __syncthreads();
    float next = highest;
    for (int token = 0; token < count; ++token) next = fmaxf(next, scores[token]);
    const float keep = expf(highest - next);
    highest = next;
    total *= keep;
#pragma unroll
    for (float& sum : sums) sum *= keep;
    for (int token = 0; token < count; ++token) {
      const float weight = expf(scores[token] - highest);
      const T* const row = text + static_cast<std::int64_t>(first + token) * hidden;
      total += weight;
#pragma unroll
      for (int i = 0; i < kMaxHidden / kThreads; ++i) {
        const int feature = thread + i * kThreads;
        if (feature < hidden) sums[i] = fmaf(weight, to_float(row[feature]), sums[i]);
      }
    }
    __syncthreads();
  }
  const float inverse = 1.0F / total;
#pragma unroll
  for (int i = 0; i < kMaxHidden / kThreads; ++i) {
    const int feature = thread + i * kThreads;
    if (feature < hidden) to[feature] = from_float<T>(sums[i] * inverse);
  }
}

/// A candidate's pooled context from feature `feature` on.
template <typename T>
__device__ __forceinline__ void pooled(const ContextPool& pool, int candidate, const T* x, int hidden, int feature,
                                       float (&means)[kPack<T>]) {
  const std::int64_t row = pool.candidates + static_cast<std::int64_t>(candidate) * pool.tokens + pool.first;
#pragma unroll
  for (float& mean : means) mean = 0;
  for (int token = 0; token < pool.count; ++token) {
    float values[kPack<T>];
    load(x + (row + token) * hidden + feature, values);
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) means[i] += values[i];
  }
#pragma unroll
  for (float& mean : means) mean /= static_cast<float>(pool.count);
}

// grid: candidates.
template <typename T>
__global__ void __launch_bounds__(kThreads) gate_input_row(ContextPool pool, const T* x, int hidden, T* gate_input) {
  wait_for_previous();
  const int candidate = static_cast<int>(blockIdx.x);
  T* const to = gate_input + static_cast<std::int64_t>(candidate) * 3 * hidden;
  for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += kThreads * kPack<T>) {
    float values[kPack<T>];
    pooled(pool, candidate, x, hidden, i, values);
    store(to + i, values);
    load(x + static_cast<std::int64_t>(candidate) * hidden + i, values);
    store(to + 2 * hidden + i, values);
  }
}

// grid: candidates.
template <typename T>
__global__ void __launch_bounds__(kThreads) pass_gate_row(const T* gate, const T* gate_input, int hidden, T* y) {
  wait_for_previous();
  const std::int64_t candidate = blockIdx.x;
  const T* const from = gate_input + candidate * 3 * hidden;
  for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += kThreads * kPack<T>) {
    float open[kPack<T>], found[kPack<T>], token[kPack<T>];
    load(gate + candidate * hidden + i, open);
    load(from + hidden + i, found);
    load(from + 2 * hidden + i, token);
#pragma unroll
    for (int k = 0; k < kPack<T>; ++k) found[k] = (found[k] - token[k]) / (1.0F + expf(-open[k]));
    store(y + candidate * hidden + i, found);
  }
}

// One warp per candidate.
template <typename T>
__global__ void __launch_bounds__(32)
    dot_row(ContextPool pool, const T* x, const T* tokens, int stride, int hidden, float* logits) {
  wait_for_previous();
  const int candidate = static_cast<int>(blockIdx.x);
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += 32 * kPack<T>) {
    float means[kPack<T>], token[kPack<T>];
    pooled(pool, candidate, x, hidden, i, means);
    load(tokens + static_cast<std::int64_t>(candidate) * stride + i, token);
#pragma unroll
    for (int k = 0; k < kPack<T>; ++k) sum = fmaf(means[k], token[k], sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) logits[candidate] = sum;
}

// grid: candidates.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    compare_row(ContextPool pool, const T* x, const T* tokens, int stride, int hidden, T* features) {
  wait_for_previous();
  const int candidate = static_cast<int>(blockIdx.x);
  T* const to = features + static_cast<std::int64_t>(candidate) * 3 * hidden;
  for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += kThreads * kPack<T>) {
    float means[kPack<T>], token[kPack<T>];
    pooled(pool, candidate, x, hidden, i, means);
    load(tokens + static_cast<std::int64_t>(candidate) * stride + i, token);
    store(to + i, token);
    store(to + hidden + i, means);
#pragma unroll
    for (int k = 0; k < kPack<T>; ++k) means[k] = fabsf(token[k] - means[k]);
    store(to + 2 * hidden + i, means);
  }
}

}  // namespace

cudaError_t derive(Element element, const Sequence* sequences, int sequence_count, int tokens, const float* codes,
                   const void* x, int hidden, void* contexts, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    const dim3 grid(static_cast<unsigned>(sequence_count), static_cast<unsigned>(tokens));
    return launch(derive_token<T>, grid, dim3(kThreads), kTokens * sizeof(float), stream, sequences, codes,
                  static_cast<const T*>(x), hidden, static_cast<T*>(contexts));
  });
}

cudaError_t gate_input(Element element, const ContextPool& pool, const void* x, int hidden, void* gate_input,
                       cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(gate_input_row<T>, dim3(static_cast<unsigned>(pool.candidates)), dim3(kThreads), 0, stream, pool,
                  static_cast<const T*>(x), hidden, static_cast<T*>(gate_input));
  });
}

cudaError_t pass_gate(Element element, const void* gate, const void* gate_input, int hidden, int candidates, void* y,
                      cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(pass_gate_row<T>, dim3(static_cast<unsigned>(candidates)), dim3(kThreads), 0, stream,
                  static_cast<const T*>(gate), static_cast<const T*>(gate_input), hidden, static_cast<T*>(y));
  });
}

cudaError_t dot_head(Element element, const ContextPool& pool, const void* x, const MetTokens& met, int hidden,
                     float* logits, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(dot_row<T>, dim3(static_cast<unsigned>(pool.candidates)), dim3(32), 0, stream, pool,
                  static_cast<const T*>(x), static_cast<const T*>(met.tokens), met.stride, hidden, logits);
  });
}

cudaError_t compare(Element element, const ContextPool& pool, const void* x, const MetTokens& met, int hidden,
                    void* features, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(compare_row<T>, dim3(static_cast<unsigned>(pool.candidates)), dim3(kThreads), 0, stream, pool,
                  static_cast<const T*>(x), static_cast<const T*>(met.tokens), met.stride, hidden,
                  static_cast<T*>(features));
  });
}

}  // namespace relucent::cuda
