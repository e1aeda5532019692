// The attention of one token per sequence, [CLS] in the last layer or a decoder's, for all heads at once, so that each
// token's features are read for its score and once more for the sum. The tokens that one sees are split into segments
// of 64, one per block. A second kernel merges the segments' sums in order: a split reduction whose bits do not depend
// on the batch.
//
// 16-bit elements are multiplied on the tensor cores, with the heads as the 16 rows of mma.m16n8k16 and the operands
// loaded as in attention.cu; fp32 is exact.
#include <cmath>

#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kHeadsAtOnce = 8;  // heads whose sums a thread of the exact kernel holds

/// The row of the token in `slot` among the tokens that a sequence's token sees: itself, its query, its document.
__device__ __forceinline__ int row_of(const LastAttentionWork& work, int slot, int own_row, const Sequence& sequence) {
  const int query = work.sees_itself ? 1 : 0, document = query + (work.sees_query ? work.query_tokens : 0);
  if (slot < query) return own_row;
  return slot < document ? sequence.query_row + slot - query : sequence.document_row + slot - document;
}

/// heads rounded up, so that kHeadsAtOnce of them can be read at once.
__host__ __device__ constexpr int padded_heads(int heads) {
  return (heads + kHeadsAtOnce - 1) / kHeadsAtOnce * kHeadsAtOnce;
}

/// The offset of a segment's sums for one head: [hidden] features, the highest score, the weights' total.
__device__ __forceinline__ std::int64_t part(int segment, int head, int heads, int hidden) {
  return (static_cast<std::int64_t>(segment) * heads + head) * (hidden + 2);
}

constexpr int kHeadRows = 16;  // heads of a block: the rows of its products
constexpr int kStep = 16;      // slots
static_assert(kSegmentSlots == kStep * kWarps);
// Padded by 16 bytes: a matrix's rows are in different banks.
constexpr int kWeightStride = kSegmentSlots + 8;
constexpr int kScoreStride = kSegmentSlots + 4;
/// Shared memory of a block: the slots' rows, scores, weights.
constexpr int kSegmentBytes = kSegmentSlots * 4 + kHeadRows * kScoreStride * 4 + kHeadRows * kWeightStride * 2;

// grid: (heads / kHeadRows, segments). x [rows, hidden] and absorbed [sequences, heads, hidden] aligned to 16 bytes;
// hidden a multiple of 8. Heads and features beyond the last are zeros.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    attend_segment(LastAttentionWork work, const T* x, const T* absorbed, float* partial) {
  wait_for_previous();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int segment_index = static_cast<int>(blockIdx.y), first_head = static_cast<int>(blockIdx.x) * kHeadRows;
  const Segment segment = work.segments[segment_index];
  if (segment.slots == 0) return;
  const Sequence sequence = work.sequences[segment.sequence];
  const int heads = work.heads, hidden = work.hidden;
  const int steps = (segment.slots + kStep - 1) / kStep;
  int* const rows = reinterpret_cast<int*>(shared_memory());
  float* const scores = reinterpret_cast<float*>(rows + kSegmentSlots);
  T* const weights = reinterpret_cast<T*>(scores + kHeadRows * kScoreStride);
  // In the place of slots behind the last one, whose weights are 0, that one.
  for (int slot = thread; slot < kSegmentSlots; slot += kThreads) {
    const int last = segment.slots - 1;
    rows[slot] = row_of(work, segment.slot + (slot < last ? slot : last), segment.sequence, sequence);
  }
  __syncthreads();

  // Scores: 16 heads by the warp's 16 slots. A lane holds 8 consecutive features of each row, the operands of two
  // products: these add the features in another order than they have in memory, the same for both operands.
  if (warp < steps) {
    float products[2][4] = {};
    const T* const queries = absorbed + static_cast<std::int64_t>(segment.sequence) * heads * hidden;
    const int low_head = first_head + lane / 4, high_head = low_head + 8;
    const T* tokens[2];
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      tokens[n] = x + static_cast<std::int64_t>(rows[kStep * warp + 8 * n + lane / 4]) * hidden;
    }
#pragma unroll 4
    for (int first = 0; first < hidden; first += 32) {
      const int feature = first + lane % 4 * 8;
      const bool valid = feature < hidden;
      const uint4 low = load_pack(queries + low_head * hidden + feature, valid && low_head < heads);
      const uint4 high = load_pack(queries + high_head * hidden + feature, valid && high_head < heads);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const uint4 token = load_pack(tokens[n] + feature, valid);
        mma_m16n8k16<T>(products[n], {low.x, high.x, low.y, high.y}, {token.x, token.y});
        mma_m16n8k16<T>(products[n], {low.z, high.z, low.w, high.w}, {token.z, token.w});
      }
    }
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int slot = kStep * warp + 8 * n + lane % 4 * 2 + e % 2;
        scores[(lane / 4 + e / 2 * 8) * kScoreStride + slot] = products[n][e] * work.scale;
      }
    }
  }
  __syncthreads();

  // Softmax of each head over the segment.
  for (int head = warp; head < kHeadRows; head += kWarps) {
    const bool exists = first_head + head < heads;
    float highest = -INFINITY, total = 0;
    for (int slot = lane; slot < segment.slots; slot += 32)
      highest = fmaxf(highest, scores[head * kScoreStride + slot]);
    highest = warp_max(highest);
    for (int slot = lane; slot < kStep * steps; slot += 32) {
      const bool seen = exists && slot < segment.slots;
      const float weight = seen ? expf(scores[head * kScoreStride + slot] - highest) : 0.0F;
      weights[head * kWeightStride + slot] = from_float<T>(weight);
      total += weight;
    }
    total = warp_sum(total);
    if (lane != 0 || !exists) continue;
    float* const of_head = partial + part(segment_index, first_head + head, heads, hidden);
    of_head[hidden] = highest, of_head[hidden + 1] = total;
  }
  __syncthreads();

  // Weighted sums, of 32 features per warp at a time: two of this lane's 8 in each of four products.
  for (int first = 32 * warp; first < hidden; first += 32 * kWarps) {
    const int feature = first + lane % 4 * 8;
    float sums[4][4] = {};
#pragma unroll
    for (int k = 0; k < kSegmentSlots / kStep; ++k) {
      if (k >= steps) break;
      std::uint32_t weight[4];
      ldmatrix_x4(weight, weights + lane % 16 * kWeightStride + kStep * k + lane / 16 * 8);
      const auto load_row = [&](int slot) {
        return load_pack(x + static_cast<std::int64_t>(rows[slot]) * hidden + feature, feature < hidden);
      };
      const uint4 low = load_row(kStep * k + lane / 4), high = load_row(kStep * k + 8 + lane / 4);
      mma_m16n8k16<T>(sums[0], weight, {transposed(low.x), transposed(high.x)});
      mma_m16n8k16<T>(sums[1], weight, {transposed(low.y), transposed(high.y)});
      mma_m16n8k16<T>(sums[2], weight, {transposed(low.z), transposed(high.z)});
      mma_m16n8k16<T>(sums[3], weight, {transposed(low.w), transposed(high.w)});
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int head = first_head + lane / 4 + 8 * half;
      if (feature >= hidden || head >= heads) continue;
      float* const to = partial + part(segment_index, head, heads, hidden) + feature;
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        *reinterpret_cast<float2*>(to + 2 * n) = make_float2(sums[n][2 * half], sums[n][2 * half + 1]);
      }
    }
  }
}

// grid: segments. Shared memory: int rows[kSegmentSlots], float weights[kSegmentSlots][padded_heads].
// x [rows, hidden] and absorbed [sequences, heads, hidden] aligned to 16 bytes; hidden a multiple of 8.
// Packs: 16-byte packs of x per lane; Tokens: tokens whose products a warp computes at a time.
// One block at least: for more, the compiler would spill a register.
template <int Packs, int Tokens>
__global__ void __launch_bounds__(kThreads, 1)
    attend_segment_exactly(LastAttentionWork work, const float* x, const float* absorbed, float* partial) {
  wait_for_previous();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const Segment segment = work.segments[blockIdx.x];
  if (segment.slots == 0) return;
  const Sequence sequence = work.sequences[segment.sequence];
  const int heads = work.heads, stride = padded_heads(heads), hidden = work.hidden;
  int* const rows = reinterpret_cast<int*>(shared_memory());
  float* const weights = reinterpret_cast<float*>(rows + kSegmentSlots);
  for (int slot = thread; slot < segment.slots; slot += kThreads) {
    rows[slot] = row_of(work, segment.slot + slot, segment.sequence, sequence);
    for (int head = heads; head < stride; ++head) weights[slot * stride + head] = 0;
  }
  __syncthreads();

  // Scores.
  const float scale = work.scale;
  const float* const queries = absorbed + static_cast<std::int64_t>(segment.sequence) * heads * hidden;
  for (int first = warp * Tokens; first < segment.slots; first += kWarps * Tokens) {
    float features[Tokens][Packs][kPack<float>];
#pragma unroll
    for (int t = 0; t < Tokens; ++t) {
      const int slot = first + t < segment.slots ? first + t : segment.slots - 1;
      const float* const row = x + static_cast<std::int64_t>(rows[slot]) * hidden;
#pragma unroll
      for (int i = 0; i < Packs; ++i) {
        const int pack = lane + 32 * i;
        if (pack * kPack<float> < hidden) load(row + pack * kPack<float>, features[t][i]);
      }
    }
    for (int head = 0; head < heads; ++head) {
      float products[Tokens] = {};
#pragma unroll
      for (int i = 0; i < Packs; ++i) {
        const int feature = (lane + 32 * i) * kPack<float>;
        if (feature >= hidden) continue;
        float query[kPack<float>];
        load(queries + head * hidden + feature, query);
#pragma unroll
        for (int t = 0; t < Tokens; ++t) {
#pragma unroll
          for (int j = 0; j < kPack<float>; ++j) products[t] = fmaf(features[t][i][j], query[j], products[t]);
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
        const float* const from = x + static_cast<std::int64_t>(rows[slot]) * hidden + feature;
        const float2 pair_of = *reinterpret_cast<const float2*>(from);
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
  wait_for_previous();
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const int heads = work.heads, hidden = work.hidden;
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

template <int Packs, int Tokens>
cudaError_t start_exact(const LastAttentionWork& work, const float* x, const float* absorbed, float* partial,
                        cudaStream_t stream) {
  const std::size_t shared = kSegmentSlots * (sizeof(int) + sizeof(float) * padded_heads(work.heads));
  return launch(attend_segment_exactly<Packs, Tokens>, dim3(static_cast<unsigned>(work.segment_count)), dim3(kThreads),
                shared, stream, work, x, absorbed, partial);
}

template <typename T>
cudaError_t start(const LastAttentionWork& work, const T* x, const T* absorbed, float* partial, cudaStream_t stream) {
  if constexpr (sizeof(T) == 4) {
    const int packs = (work.hidden / kPack<float> + 31) / 32;
    if (packs <= 1) return start_exact<1, 4>(work, x, absorbed, partial, stream);
    if (packs <= 2) return start_exact<2, 4>(work, x, absorbed, partial, stream);
    if (packs <= 4) return start_exact<4, 2>(work, x, absorbed, partial, stream);
    if (packs <= 8) return start_exact<8, 1>(work, x, absorbed, partial, stream);
    return start_exact<16, 1>(work, x, absorbed, partial, stream);
  } else {
    const dim3 grid(static_cast<unsigned>((work.heads + kHeadRows - 1) / kHeadRows),
                    static_cast<unsigned>(work.segment_count));
    return launch(attend_segment<T>, grid, dim3(kThreads), kSegmentBytes, stream, work, x, absorbed, partial);
  }
}

}  // namespace

cudaError_t last_attention(Element element, const LastAttentionWork& work, const void* x, const void* absorbed,
                           float* partial, void* mixed, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    const cudaError_t error = start(work, static_cast<const T*>(x), static_cast<const T*>(absorbed), partial, stream);
    if (error != cudaSuccess) return error;
    const dim3 grid(static_cast<unsigned>(work.sequence_count), static_cast<unsigned>(work.heads));
    return launch(merge_segments<T>, grid, dim3(kThreads), 0, stream, work, partial, static_cast<T*>(mixed));
  });
}

}  // namespace relucent::cuda
