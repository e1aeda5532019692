// Attention of all three groups in one pass, on the tensor cores: 16-bit elements, fp32 scores and sums. Neither keys
// nor scores pass through shared memory: everything is in registers.
//
// A block computes up to 64 rows of one group of one sequence for one head; each of its four warps has 16 rows and a
// list of the keys that these see, and walks over it with a running maximum and sum (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018). The cost is proportional to the window: with w = 4 a warp's 16 rows have
// [CLS], the query and 24 keys of the document. If there are at most 16 rows, as for [CLS], the warps divide the keys
// among themselves instead, and the block merges their sums at the end in a fixed order. The [CLS] of a long document
// has several blocks, whose sums another launch merges.
//
// A lane loads 16 bytes of each row: with four lanes to a row, 8 rows of 32 features per load. These are operands of
// mma.m16n8k16 as they are if the features count in another order than they have in memory, the same for queries and
// keys. For values, whose features are a product's columns, movmatrix exchanges keys and features of 8 x 8 elements; a
// lane then ends with the 8 features of a row that it has loaded of keys.
#include <cmath>
#include <type_traits>

#include "instructions.h"
#include "kernels/cuda/keys.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kWarpRows = 16;
static_assert(kTileRows == kWarpRows * kWarps);
constexpr int kStep = 16;  // keys
constexpr float kLog2E = 1.4426950408889634F;
/// Where warps share keys, a row's sums in shared memory: its features, its maximum, its total.
template <int Dim>
constexpr int kMergeStride = Dim + 2;
template <int Dim>
constexpr int kMergeBytes = kWarps* kWarpRows* static_cast<int>(sizeof(float)) * kMergeStride<Dim>;
static_assert(kMergeBytes<kMaxHeadSize> <= 48 * 1024);

/// The running softmax of 16 rows. This lane has rows lane / 4 and lane / 4 + 8, of each 32 features the 8 from
/// 8 * (lane % 4) on: two in each of four products.
template <int Dim>
struct Sums {
  float values[Dim / 8][4] = {};
  float highest[2] = {-INFINITY, -INFINITY};  // of the scores, times log2(e) and what divides them
  float total[2] = {0, 0};                    // of this lane's columns only

  /// Includes the scores of kStep more keys and replaces them with the weights exp2(scale * score - highest).
  __device__ __forceinline__ void rescale(float (&scores)[2][4], float scale) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float next = fmaxf(fmaxf(scores[0][2 * half], scores[0][2 * half + 1]),
                         fmaxf(scores[1][2 * half], scores[1][2 * half + 1]));
      next = fmaxf(next, __shfl_xor_sync(kWholeWarp, next, 1));
      next = fmaxf(next, __shfl_xor_sync(kWholeWarp, next, 2));
      next = fmaxf(next * scale, highest[half]);
      const float base = next == -INFINITY ? 0.0F : next;  // nothing seen yet
      const float keep = exp2_of(highest[half] - base);
      highest[half] = next;
      float sum = 0;
#pragma unroll
      for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          scores[t][e] = exp2_of(fmaf(scores[t][e], scale, -base));
          sum += scores[t][e];
        }
      }
      total[half] = fmaf(total[half], keep, sum);
#pragma unroll
      for (int n = 0; n < Dim / 8; ++n) values[n][2 * half] *= keep, values[n][2 * half + 1] *= keep;
    }
  }

  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(kWholeWarp, total[half], 1);
      total[half] += __shfl_xor_sync(kWholeWarp, total[half], 2);
    }
  }
};

/// The rows of a tile that one warp computes, for one head, and their keys.
template <typename T, int Dim, typename KeyList>
class Rows {
 public:
  /// `rows`: the warp's part of a tile.
  __device__ Rows(const AttentionWork& work, const AttentionTile& rows, const T* qkv)
      : work_(work),
        rows_(rows),
        keys_(work, rows),
        stride_(3 * work.heads * work.head_size),
        of_lane_(qkv + blockIdx.x * work.head_size + lane() % 4 * 8) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane() / 4 + 8 * half;
      const T* const from = place(rows.row + (row < rows.tokens ? row : rows.tokens - 1));
#pragma unroll
      for (int s = 0; s < kSlabs; ++s) queries_[s][half] = load_pack(from + 32 * s, has(s));
    }
  }

  __device__ const KeyList& keys() const { return keys_; }

  /// Includes the keys of the kStep slots from `slot` on.
  __device__ __forceinline__ void include(int slot) {
    uint4 keys[2][kSlabs], values[2][kSlabs];
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      // In the place of slots behind the last one, whose weights are 0, that one's finite values.
      const int own = slot + 8 * t + lane() / 4, last = keys_.slots - 1;
      const T* const key = place(keys_.row(own < last ? own : last)) + stride_ / 3;
#pragma unroll
      for (int s = 0; s < kSlabs; ++s) {
        keys[t][s] = load_pack(key + 32 * s, has(s));
        values[t][s] = load_pack(key + stride_ / 3 + 32 * s, has(s));
      }
    }
    float scores[2][4] = {};
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int s = 0; s < kSlabs; ++s) {
        const uint4(&query)[2] = queries_[s];
        const uint4 key = keys[t][s];
        mma_m16n8k16<T>(scores[t], {query[0].x, query[1].x, query[0].y, query[1].y}, {key.x, key.y});
        mma_m16n8k16<T>(scores[t], {query[0].z, query[1].z, query[0].w, query[1].w}, {key.z, key.w});
      }
    }
    if (!keys_.sees_all(slot, kStep)) hide(slot, scores);
    sums.rescale(scores, kLog2E * work_.scale);
    const std::uint32_t weights[4] = {pair<T>(scores[0][0], scores[0][1]), pair<T>(scores[0][2], scores[0][3]),
                                      pair<T>(scores[1][0], scores[1][1]), pair<T>(scores[1][2], scores[1][3])};
#pragma unroll
    for (int s = 0; s < kSlabs; ++s) {
      const uint4 low = values[0][s], high = values[1][s];
      const std::uint32_t words[4][2] = {{low.x, high.x}, {low.y, high.y}, {low.z, high.z}, {low.w, high.w}};
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        mma_m16n8k16<T>(sums.values[4 * s + n], weights, {transposed(words[n][0]), transposed(words[n][1])});
      }
    }
  }

  /// Whether the lane has features of the slab.
  __device__ __forceinline__ bool has(int slab) const { return 32 * slab + lane() % 4 * 8 < work_.head_size; }
  /// The first of the 8.
  __device__ __forceinline__ static int feature(int slab) { return 32 * slab + lane() % 4 * 8; }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  static constexpr int kSlabs = Dim / 32;
  Sums<Dim> sums;

 private:
  __device__ __forceinline__ const T* place(int row) const {
    return of_lane_ + static_cast<std::int64_t>(row) * stride_;
  }

  __device__ __forceinline__ void hide(int slot, float (&scores)[2][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane() / 4 + 8 * half, index = rows_.index + row;
      const auto seen = keys_.seen_from(work_, index);
#pragma unroll
      for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          const int key = slot + 8 * t + lane() % 4 * 2 + e % 2;
          const bool visible = seen(key);
          if constexpr (std::is_same_v<KeyList, KeysRelative>) {
            if (visible && row < rows_.tokens) {
              scores[t][e] +=
                  keys_.template relative<T>(work_, static_cast<int>(blockIdx.x), rows_.row + row, key, index);
            }
          }
          scores[t][e] = visible ? scores[t][e] : -INFINITY;
        }
      }
    }
  }

  const AttentionWork& work_;
  const AttentionTile rows_;
  const KeyList keys_;
  const int stride_;
  const T* const of_lane_;  // its features of a row's query
  uint4 queries_[kSlabs][2];
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kBlocksOfUsual = 6;
#else
constexpr int kBlocksOfUsual = 5;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1000
constexpr int kBlocksOfGlobals = 3;
#else
constexpr int kBlocksOfGlobals = 0;
#endif
// Blocks per multiprocessor that the compiler plans for; 0: it decides. Latency is what counts, so as many as do not
// make it spill registers on any architecture.
template <int Dim, typename KeyList>
constexpr int kBlocksWanted = Dim == 32 && std::is_same_v<KeyList, Keys>              ? kBlocksOfUsual
                              : Dim == 32 && std::is_same_v<KeyList, KeysByPosition>  ? 5
                              : Dim == 32 && std::is_same_v<KeyList, KeysWithGlobals> ? 4
                              : Dim == 64 && std::is_same_v<KeyList, KeysByPosition>  ? 3
                              : Dim == 64 && std::is_same_v<KeyList, KeysWithGlobals> ? kBlocksOfGlobals
                                                                                      : 0;

// grid: (heads, tiles): the heads of a tile run together, so that whole rows of qkv are read at a time and not
// 2 * head_size bytes of each. Dim: head_size rounded up to 32, 64 or 128; features beyond head_size are zeros.
// qkv [rows, 3 * hidden], context [rows, hidden], both aligned to 16 bytes; head_size a multiple of 8. The sums of a
// tile that is a part of a [CLS] go to work.parts instead.
template <typename T, int Dim, typename KeyList>
__global__ void __launch_bounds__(kThreads, (kBlocksWanted<Dim, KeyList>))
    attend(AttentionWork work, const T* qkv, T* context) {
  wait_for_previous();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  AttentionTile tile = work.tiles[blockIdx.y];
  const int head_size = work.head_size, hidden = work.heads * head_size;
  const bool share_keys = static_cast<unsigned>(tile.tokens - 1) < kWarpRows;  // without tokens, all warps return
  if (!share_keys) {
    const int first = kWarpRows * warp;
    if (first >= tile.tokens) return;
    tile.row += first;
    tile.tokens = tile.tokens - first < kWarpRows ? tile.tokens - first : kWarpRows;
    if constexpr (!std::is_same_v<KeyList, KeysLinked>) tile.index += first;
  }
  Rows<T, Dim, KeyList> rows(work, tile, qkv);
  const int slots = rows.keys().slots;
  T* const results = context + static_cast<std::int64_t>(tile.row) * hidden + blockIdx.x * head_size;
  if (!share_keys) {
    for (int slot = 0; slot < slots; slot += kStep) rows.include(slot);
    rows.sums.finish();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane / 4 + 8 * half;
      const float inverse = reciprocal_of(rows.sums.total[half]);
      if (row >= tile.tokens) continue;
#pragma unroll
      for (int s = 0; s < rows.kSlabs; ++s) {
        float values[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = rows.sums.values[4 * s + i / 2][2 * half + i % 2] * inverse;
        if (rows.has(s)) store(results + static_cast<std::int64_t>(row) * hidden + rows.feature(s), values);
      }
    }
    return;
  }

  const KeyPart part(work, tile, slots, kStep);
  for (int step = part.first + warp; step < part.end; step += kWarps) rows.include(kStep * step);
  rows.sums.finish();
  float* const of_warps = reinterpret_cast<float*>(shared_memory());
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (lane / 4 + 8 * half >= tile.tokens) continue;
    float* const row = of_warps + (kWarpRows * warp + lane / 4 + 8 * half) * kMergeStride<Dim>;
#pragma unroll
    for (int s = 0; s < rows.kSlabs; ++s) {
#pragma unroll
      for (int i = 0; i < 8; ++i) row[rows.feature(s) + i] = rows.sums.values[4 * s + i / 2][2 * half + i % 2];
    }
    if (lane % 4 == 0) row[Dim] = rows.sums.highest[half], row[Dim + 1] = rows.sums.total[half];
  }
  __syncthreads();
  float* const part_sums = KeyPart::sums(work, tile);
  for (int i = thread; i < tile.tokens * head_size; i += kThreads) {
    const float* const row = of_warps + i / head_size * kMergeStride<Dim>;
    constexpr int next = kWarpRows * kMergeStride<Dim>;  // warp's
    float highest = -INFINITY, value = 0, total = 0;
    for (int w = 0; w < kWarps; ++w) highest = fmaxf(highest, row[w * next + Dim]);
    const float base = highest == -INFINITY ? 0.0F : highest;  // a part of a [CLS] whose keys are all hidden
    for (int w = 0; w < kWarps; ++w) {
      const float weight = exp2_of(row[w * next + Dim] - base);
      value += row[w * next + i % head_size] * weight;
      total += row[w * next + Dim + 1] * weight;
    }
    if (part_sums != nullptr) {
      float* const to = part_sums + blockIdx.x * (head_size + 2);
      to[i] = value;
      if (i == 0) to[head_size] = highest, to[head_size + 1] = total;
      continue;
    }
    results[static_cast<std::int64_t>(i / head_size) * hidden + i % head_size] = from_float<T>(value / total);
  }
}

// grid: (heads, sequences); a thread per feature of a head. context [rows, hidden]: the [CLS] that have several parts.
template <typename T>
__global__ void __launch_bounds__(kMaxHeadSize) merge_parts(AttentionWork work, T* context) {
  wait_for_previous();
  const Sequence sequence = work.sequences[blockIdx.y];
  const int count = cls_parts(sequence.document_tokens), feature = static_cast<int>(threadIdx.x);
  if (count == 1 || feature >= work.head_size) return;
  // Scores are times log2(e), but for those of the exact kernel.
  const auto power = [](float x) { return sizeof(T) == 4 ? expf(x) : exp2f(x); };
  const auto sums = [&](int part) { return KeyPart::sums(work, sequence, part) + blockIdx.x * (work.head_size + 2); };
  float highest = -INFINITY, value = 0, total = 0;
  for (int part = 0; part < count; ++part) highest = fmaxf(highest, sums(part)[work.head_size]);
  for (int part = 0; part < count; ++part) {
    const float* const of_part = sums(part);
    const float weight = power(of_part[work.head_size] - highest);
    value = fmaf(of_part[feature], weight, value);
    total = fmaf(of_part[work.head_size + 1], weight, total);
  }
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * work.heads * work.head_size;
  context[row + blockIdx.x * work.head_size + feature] = from_float<T>(value / total);
}

template <typename T, int Dim>
cudaError_t start(const AttentionWork& work, const void* qkv, void* context, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(work.heads), static_cast<unsigned>(work.tile_count));
  const auto kernel = work.pattern.linked        ? attend<T, Dim, KeysLinked>
                      : work.relative.reach > 0  ? attend<T, Dim, KeysRelative>
                      : work.pattern.globals     ? attend<T, Dim, KeysWithGlobals>
                      : work.pattern.by_position ? attend<T, Dim, KeysByPosition>
                                                 : attend<T, Dim, Keys>;
  return launch(kernel, grid, dim3(kThreads), kMergeBytes<Dim>, stream, work, static_cast<const T*>(qkv),
                static_cast<T*>(context));
}

template <typename T>
cudaError_t start(const AttentionWork& work, const void* qkv, void* context, cudaStream_t stream) {
  if (work.head_size <= 32) return start<T, 32>(work, qkv, context, stream);
  if (work.head_size <= 64) return start<T, 64>(work, qkv, context, stream);
  return start<T, 128>(work, qkv, context, stream);
}

}  // namespace

cudaError_t attention(Element element, const AttentionWork& work, const void* qkv, void* context, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    cudaError_t error = cudaSuccess;
    if constexpr (sizeof(T) == 4) {
      error = exact_attention(work, static_cast<const float*>(qkv), static_cast<float*>(context), stream);
    } else {
      error = start<T>(work, qkv, context, stream);
    }
    if (error != cudaSuccess || work.split_sequences == 0) return error;
    const dim3 grid(static_cast<unsigned>(work.heads), static_cast<unsigned>(work.split_sequences));
    return launch(merge_parts<T>, grid, dim3(kMaxHeadSize), 0, stream, work, static_cast<T*>(context));
  });
}

}  // namespace relucent::cuda
