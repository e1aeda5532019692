// Pivots: from their tokens, back to them, and the head that reads them.
#include <cmath>

#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kHeadThreads = 256;

// grid: pivots. A thread sums packs of features over the tokens, in their order.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    mean_of_tokens(const Pivot* pivots, const PivotToken* tokens, const T* x, int hidden, T* states) {
  wait_for_previous();
  const Pivot pivot = pivots[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += kThreads * kPack<T>) {
    float sums[kPack<T>] = {};
    for (int token = pivot.first; token < pivot.first + pivot.count; ++token) {
      float values[kPack<T>];
      load(x + static_cast<std::int64_t>(tokens[token].row) * hidden + i, values);
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) sums[k] += values[k];
    }
#pragma unroll
    for (float& sum : sums) sum /= static_cast<float>(pivot.count);
    store(states + static_cast<std::int64_t>(blockIdx.x) * hidden + i, sums);
  }
}

template <typename T>
__device__ __forceinline__ void copy_row(const T* from, int hidden, T* to) {
  for (int i = static_cast<int>(threadIdx.x) * kPack<T>; i < hidden; i += kThreads * kPack<T>) {
    *reinterpret_cast<uint4*>(to + i) = *reinterpret_cast<const uint4*>(from + i);
  }
}

// grid: tokens.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    pair_row(const PivotToken* tokens, const T* x, const T* states, int hidden, T* both) {
  wait_for_previous();
  const PivotToken token = tokens[blockIdx.x];
  T* const to = both + static_cast<std::int64_t>(blockIdx.x) * 2 * hidden;
  copy_row(x + static_cast<std::int64_t>(token.row) * hidden, hidden, to);
  copy_row(states + static_cast<std::int64_t>(token.pivot) * hidden, hidden, to + hidden);
}

// grid: tokens.
template <typename T>
__global__ void __launch_bounds__(kThreads) put_row(const PivotToken* tokens, const T* rows, int hidden, T* x) {
  wait_for_previous();
  copy_row(rows + static_cast<std::int64_t>(blockIdx.x) * hidden, hidden,
           x + static_cast<std::int64_t>(tokens[blockIdx.x].row) * hidden);
}

// grid: documents. A warp computes some of the sums over a group for a head, as a running softmax; the sums are added
// in their order.
template <typename T>
__global__ void __launch_bounds__(kHeadThreads)
    pivot_head_row(PivotHeadWork work, const T* states, int hidden, float* logits) {
  wait_for_previous();
  float* const sums = reinterpret_cast<float*>(shared_memory());  // [groups, heads]
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const PivotRange* const ranges = work.ranges + static_cast<std::int64_t>(blockIdx.x) * work.groups;
  for (int i = warp; i < work.groups * work.heads; i += kHeadThreads / 32) {
    const PivotRange range = ranges[i / work.heads];
    const float* const weighing = work.vectors + static_cast<std::int64_t>(i) * 2 * hidden;
    const float* const values = weighing + hidden;
    float highest = -INFINITY, total = 0, sum = 0;
    for (int pivot = range.first; pivot < range.first + range.count; ++pivot) {
      const T* const row = states + static_cast<std::int64_t>(pivot) * hidden;
      float score = 0, value = 0;
      for (int k = lane; k < hidden; k += 32) {
        const float state = to_float(row[k]);
        score = fmaf(weighing[k], state, score);
        value = fmaf(values[k], state, value);
      }
      score = warp_sum(score), value = warp_sum(value);
      const float next = fmaxf(highest, score), keep = expf(highest - next), weight = expf(score - next);
      highest = next;
      total = total * keep + weight;
      sum = sum * keep + weight * value;
    }
    if (lane == 0) sums[i] = range.count > 0 ? sum / total : 0.0F;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  float logit = work.biases[work.groups];
  for (int group = 0; group < work.groups; ++group) {
    if (ranges[group].count > 0) logit += work.biases[group];
    for (int head = 0; head < work.heads; ++head) logit += sums[group * work.heads + head];
  }
  logits[blockIdx.x] = logit;
}

}  // namespace

cudaError_t gather_pivots(Element element, const Pivot* pivots, const PivotToken* tokens, int pivot_count,
                          const void* x, int hidden, void* states, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(mean_of_tokens<T>, dim3(static_cast<unsigned>(pivot_count)), dim3(kThreads), 0, stream, pivots,
                  tokens, static_cast<const T*>(x), hidden, static_cast<T*>(states));
  });
}

cudaError_t pair_with_pivots(Element element, const PivotToken* tokens, int token_count, const void* x,
                             const void* states, int hidden, void* both, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(pair_row<T>, dim3(static_cast<unsigned>(token_count)), dim3(kThreads), 0, stream, tokens,
                  static_cast<const T*>(x), static_cast<const T*>(states), hidden, static_cast<T*>(both));
  });
}

cudaError_t put_back(Element element, const PivotToken* tokens, int token_count, const void* rows, int hidden, void* x,
                     cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(put_row<T>, dim3(static_cast<unsigned>(token_count)), dim3(kThreads), 0, stream, tokens,
                  static_cast<const T*>(rows), hidden, static_cast<T*>(x));
  });
}

cudaError_t pivot_head(Element element, const PivotHeadWork& work, const void* states, int hidden, float* logits,
                       cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    const auto bytes = static_cast<std::size_t>(work.groups * work.heads) * sizeof(float);
    return launch(pivot_head_row<T>, dim3(static_cast<unsigned>(work.documents)), dim3(kHeadThreads), bytes, stream,
                  work, static_cast<const T*>(states), hidden, logits);
  });
}

}  // namespace relucent::cuda
