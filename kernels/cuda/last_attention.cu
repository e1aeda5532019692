// The last layer's attention of [CLS], for all heads at once, so that each token's features are read for its score and
// once more for the sum. The tokens that one [CLS] sees are split into segments of 128, one per block. A second kernel
// merges the segments' sums in order: a split reduction whose bits do not depend on the batch.
#include <cmath>

#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kHeadsAtOnce = 8;  // heads whose sums a thread holds

/// Blocks per multiprocessor that the compiler must leave registers for; 0: as it thinks best. With 64 features of a
/// token per lane it aims at five blocks, which costs sm_100 a spill.
template <typename T, int Packs>
constexpr int kBlocks = Packs* kPack<T> == 64 ? 1 : 0;

/// The row of the token in `slot` among the tokens that a [CLS] sees: itself, its query, its document.
__device__ __forceinline__ int row_of(int slot, int cls_row, const Sequence& sequence, int query_tokens) {
  if (slot == 0) return cls_row;
  if (slot <= query_tokens) return sequence.query_row + slot - 1;
  return sequence.document_row + slot - 1 - query_tokens;
}

/// heads rounded up, so that kHeadsAtOnce of them can be read at once.
__host__ __device__ constexpr int padded_heads(int heads) {
  return (heads + kHeadsAtOnce - 1) / kHeadsAtOnce * kHeadsAtOnce;
}

/// The offset of a segment's sums for one head: [hidden] features, the highest score, the weights' total.
__device__ __forceinline__ std::int64_t part(int segment, int head, int heads, int hidden) {
  return (static_cast<std::int64_t>(segment) * heads + head) * (hidden + 2);
}

// grid: segments. Shared memory: int rows[kSegmentSlots], float weights[kSegmentSlots][padded_heads].
// x [rows, hidden] and absorbed [sequences, heads, hidden] aligned to 16 bytes; hidden a multiple of 8.
// Packs: 16-byte packs of x per lane; Tokens: tokens whose products a warp computes at a time.
template <typename T, int Packs, int Tokens>
__global__ void __launch_bounds__(kThreads, kBlocks<T, Packs>)
    attend_segment(LastAttentionWork work, const T* x, const float* absorbed, float* partial) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const Segment segment = work.segments[blockIdx.x];
  const Sequence sequence = work.sequences[segment.sequence];
  const int query_tokens = work.sees_query ? work.query_tokens : 0;
  const int heads = work.heads, stride = padded_heads(heads), hidden = heads * work.head_size;
  int* const rows = reinterpret_cast<int*>(shared_memory());
  float* const weights = reinterpret_cast<float*>(rows + kSegmentSlots);
  for (int slot = thread; slot < segment.slots; slot += kThreads) {
    rows[slot] = row_of(segment.slot + slot, segment.sequence, sequence, query_tokens);
    for (int head = heads; head < stride; ++head) weights[slot * stride + head] = 0;
  }
  __syncthreads();

  // Scores.
  const float scale = 1.0F / sqrtf(static_cast<float>(work.head_size));
  const float* const queries = absorbed + static_cast<std::int64_t>(segment.sequence) * heads * hidden;
  for (int first = warp * Tokens; first < segment.slots; first += kWarps * Tokens) {
    float features[Tokens][Packs][kPack<T>];
#pragma unroll
    for (int t = 0; t < Tokens; ++t) {
      const int slot = first + t < segment.slots ? first + t : segment.slots - 1;
      const T* const row = x + static_cast<std::int64_t>(rows[slot]) * hidden;
#pragma unroll
      for (int i = 0; i < Packs; ++i) {
        const int pack = lane + 32 * i;
        if (pack * kPack<T> < hidden) load(row + pack * kPack<T>, features[t][i]);
      }
    }
    for (int head = 0; head < heads; ++head) {
      float products[Tokens] = {};
#pragma unroll
      for (int i = 0; i < Packs; ++i) {
        const int feature = (lane + 32 * i) * kPack<T>;
        if (feature >= hidden) continue;
#pragma unroll
        for (int k = 0; k < kPack<T>; k += 4) {
          float query[4];
          load(queries + head * hidden + feature + k, query);
#pragma unroll
          for (int t = 0; t < Tokens; ++t) {
#pragma unroll
            for (int j = 0; j < 4; ++j) products[t] = fmaf(features[t][i][k + j], query[j], products[t]);
          }
        }
      }
#pragma unroll
      for (int t = 0; t < Tokens; ++t) {
        const float product = warp_sum(products[t]) * scale;
        if (lane == 0 && first + t < segment.slots) weights[(first + t) * stride + head] = product;
      }
    }
  }
  __syncthreads();

  // Softmax of each head over the segment.
  for (int head = warp; head < heads; head += kWarps) {
    float highest = -INFINITY, total = 0;
    for (int slot = lane; slot < segment.slots; slot += 32) highest = fmaxf(highest, weights[slot * stride + head]);
    highest = warp_max(highest);
    for (int slot = lane; slot < segment.slots; slot += 32) {
      const float weight = expf(weights[slot * stride + head] - highest);
      weights[slot * stride + head] = weight;
      total += weight;
    }
    total = warp_sum(total);
    float* const of_head = partial + part(static_cast<int>(blockIdx.x), head, heads, hidden);
    if (lane == 0) of_head[hidden] = highest, of_head[hidden + 1] = total;
  }
  __syncthreads();

  // Weighted sums: two features per thread.
  for (int feature = 2 * thread; feature < hidden; feature += 2 * kThreads) {
    for (int head = 0; head < heads; head += kHeadsAtOnce) {
      float sums[kHeadsAtOnce][2] = {};
      for (int slot = 0; slot < segment.slots; ++slot) {
        const T* const from = x + static_cast<std::int64_t>(rows[slot]) * hidden + feature;
        float2 pair_of;
        if constexpr (sizeof(T) == 4) {
          pair_of = *reinterpret_cast<const float2*>(from);
        } else {
          pair_of = unpair<T>(*reinterpret_cast<const std::uint32_t*>(from));
        }
        const float* const of_slot = weights + slot * stride + head;
#pragma unroll
        for (int h = 0; h < kHeadsAtOnce; ++h) {
          sums[h][0] = fmaf(of_slot[h], pair_of.x, sums[h][0]);
          sums[h][1] = fmaf(of_slot[h], pair_of.y, sums[h][1]);
        }
      }
#pragma unroll
      for (int h = 0; h < kHeadsAtOnce; ++h) {
        if (head + h >= heads) break;
        float* const to = partial + part(static_cast<int>(blockIdx.x), head + h, heads, hidden) + feature;
        to[0] = sums[h][0], to[1] = sums[h][1];
      }
    }
  }
}

// grid: (sequences, heads). mixed [sequences, heads, hidden].
template <typename T>
__global__ void __launch_bounds__(kThreads) merge_segments(LastAttentionWork work, const float* partial, T* mixed) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const int heads = work.heads, hidden = heads * work.head_size;
  const int first = work.sequences[sequence].first_segment, end = work.sequences[sequence + 1].first_segment;
  float highest = -INFINITY, total = 0;
  for (int s = first; s < end; ++s) highest = fmaxf(highest, partial[part(s, head, heads, hidden) + hidden]);
  for (int s = first; s < end; ++s) {
    const float* const of_segment = partial + part(s, head, heads, hidden);
    total += of_segment[hidden + 1] * expf(of_segment[hidden] - highest);
  }
  for (int feature = static_cast<int>(threadIdx.x); feature < hidden; feature += kThreads) {
    float sum = 0;
    for (int s = first; s < end; ++s) {
      const float* const of_segment = partial + part(s, head, heads, hidden);
      sum = fmaf(of_segment[feature], expf(of_segment[hidden] - highest), sum);
    }
    mixed[(static_cast<std::int64_t>(sequence) * heads + head) * hidden + feature] = from_float<T>(sum / total);
  }
}

template <typename T, int Packs, int Tokens>
cudaError_t start(const LastAttentionWork& work, const T* x, const float* absorbed, float* partial, T* mixed,
                  cudaStream_t stream) {
  const std::size_t shared = kSegmentSlots * (sizeof(int) + sizeof(float) * padded_heads(work.heads));
  const cudaError_t error = launch(attend_segment<T, Packs, Tokens>, dim3(static_cast<unsigned>(work.segment_count)),
                                   dim3(kThreads), shared, stream, work, x, absorbed, partial);
  if (error != cudaSuccess) return error;
  const dim3 grid(static_cast<unsigned>(work.sequence_count), static_cast<unsigned>(work.heads));
  return launch(merge_segments<T>, grid, dim3(kThreads), 0, stream, work, partial, mixed);
}

}  // namespace

cudaError_t last_attention(Element element, const LastAttentionWork& work, const void* x, const float* absorbed,
                           float* partial, void* mixed, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    const int packs = (work.heads * work.head_size / kPack<T> + 31) / 32;
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(mixed);
    if (packs <= 1) return start<T, 1, 4>(work, from, absorbed, partial, to, stream);
    if (packs <= 2) return start<T, 2, 4>(work, from, absorbed, partial, to, stream);
    if (packs <= 4) return start<T, 4, 2>(work, from, absorbed, partial, to, stream);
    if constexpr (8 * 32 * kPack<T> < kMaxHidden) {
      if (packs > 8) return start<T, 16, 1>(work, from, absorbed, partial, to, stream);
    }
    return start<T, 8, 1>(work, from, absorbed, partial, to, stream);
  });
}

}  // namespace relucent::cuda
