// Attention of all three groups in one pass, on the tensor cores: 16-bit elements, fp32 scores and sums. Scores never
// leave the registers.
//
// A block computes up to 64 rows of one group of one sequence for one head; each of its four warps holds 16 rows, their
// queries as fragments of mma.m16n8k16, and walks over the keys 16 at a time with a running maximum and sum (Milakov
// and Gimelshein, "Online normalizer calculation for softmax", 2018). Keys and values pass through shared memory in
// chunks; the block loads the next one while it uses the current one. The cost is proportional to the window: warps
// skip the 16-key steps outside their own band, so that with w = 4 a warp computes 32 document keys for its 16 rows. If
// there are at most 16 rows, as for [CLS], the warps divide the keys among themselves instead, and the block merges
// their sums at the end in a fixed order. The [CLS] of a long document has several blocks, whose sums another launch
// merges.
#include <cmath>
#include <type_traits>

#include "instructions.h"
#include "kernels/cuda/exact_attention.h"
#include "kernels/cuda/keys.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
static_assert(kTileRows == 16 * kWarps);

/// Shared memory of a block: two buffers, each a chunk of keys and one of values, in rows of kStride elements. The
/// second buffer holds the tile's queries before the second chunk, and the first one its results after the last chunk.
template <int Dim>
struct Buffers {
  static constexpr int kChunk = Dim > 64 ? 32 : 64;  // slots
  static constexpr int kStride = Dim + 8;            // padded by 16 bytes: a matrix's rows are in different banks
  static constexpr int kMergeStride = Dim + 2;       // fp32: a row's sum, its maximum and its total
  static constexpr int kBuffer = 2 * kChunk * kStride;
  static constexpr int kBytes = 2 * kBuffer * 2;
  static_assert(kBytes >= kWarps * 16 * kMergeStride * 4 && kBytes <= 48 * 1024 && 2 * kChunk >= kTileRows);
};

/// The running softmax of 16 rows, laid out like an accumulator of mma: this lane has rows lane / 4 and lane / 4 + 8.
template <int Dim>
struct Sums {
  float values[Dim / 8][4] = {};
  float highest[2] = {-INFINITY, -INFINITY};  // of the scores, times log2(e)
  float total[2] = {0, 0};                    // of this lane's columns only

  /// Includes the scores of 16 more keys and replaces them with the weights exp2(score - highest).
  __device__ __forceinline__ void rescale(float (&scores)[2][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float next = fmaxf(fmaxf(scores[0][2 * half], scores[0][2 * half + 1]),
                         fmaxf(scores[1][2 * half], scores[1][2 * half + 1]));
      next = fmaxf(next, __shfl_xor_sync(kWholeWarp, next, 1));
      next = fmaxf(next, __shfl_xor_sync(kWholeWarp, next, 2));
      next = fmaxf(next, highest[half]);
      const float base = next == -INFINITY ? 0.0F : next;  // nothing seen yet
      const float keep = exp2f(highest[half] - base);
      highest[half] = next;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          scores[n][e] = exp2f(scores[n][e] - base);
          sum += scores[n][e];
        }
      }
      total[half] = total[half] * keep + sum;
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

// Blocks per multiprocessor that the compiler plans for; 0: it decides. For these kernels it would decide on more, and
// registers would spill on some architectures.
template <int Dim, typename KeyList>
constexpr int kBlocksWanted = Dim == 32 && std::is_same_v<KeyList, KeysLinked>         ? 7
                              : Dim <= 32 && std::is_same_v<KeyList, KeysDisentangled> ? 5
                                                                                       : 0;

// grid: (heads, tiles): the heads of a tile run together, so that whole rows of qkv are read at a time and not
// 2 * head_size bytes of each. Dim: head_size rounded up to 16, 32, 64 or 128; features beyond head_size are zeros.
// qkv [rows, 3 * hidden], context [rows, hidden], both aligned to 16 bytes; head_size a multiple of 8. The sums of a
// tile that is a part of a [CLS] go to work.parts instead.
template <typename T, int Dim, typename KeyList>
__global__ void __launch_bounds__(kThreads, (kBlocksWanted<Dim, KeyList>))
    attend(AttentionWork work, const T* qkv, T* context) {
  using B = Buffers<Dim>;
  T* const shared = reinterpret_cast<T*>(shared_memory());
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const AttentionTile tile = work.tiles[blockIdx.y];
  const int head_size = work.head_size, hidden = work.heads * head_size;
  const std::int64_t stride = 3 * static_cast<std::int64_t>(hidden);
  const T* const of_head = qkv + static_cast<std::int64_t>(blockIdx.x) * head_size;
  const bool share_keys = tile.tokens <= 16;
  const int first_row = share_keys ? 0 : 16 * warp;  // of this warp, within the tile

  // Features [8 * piece, 8 * piece + 8) of a row's query, key or value.
  const auto copy = [&](T* to, int row, int kind, int piece) {
    const bool valid = row >= 0 && 8 * piece < head_size;
    cp_async_16(to + 8 * piece, of_head + (valid ? row * stride + kind * hidden + 8 * piece : 0), valid);
  };
  // The queries and the first chunk are on their way together.
  T* const queries = shared + B::kBuffer;
  for (int i = thread; i < kTileRows * (Dim / 8); i += kThreads) {
    const int row = i / (Dim / 8);
    copy(queries + row * B::kStride, row < tile.tokens ? tile.row + row : -1, 0, i % (Dim / 8));
  }
  cp_async_commit();

  const KeyList keys(work, tile);
  const KeyPart part(work, tile, keys.slots, B::kChunk);
  const auto start_chunk = [&](int chunk) {
    T* const to = shared + chunk % 2 * B::kBuffer;
    if (chunk < part.end) {
      for (int i = thread; i < B::kChunk * (Dim / 8); i += kThreads) {
        const int slot = i / (Dim / 8), piece = i % (Dim / 8);
        if (chunk * B::kChunk + slot >= keys.slots) break;
        const int row = keys.row(chunk * B::kChunk + slot);
        copy(to + slot * B::kStride, row, 1, piece);
        copy(to + (B::kChunk + slot) * B::kStride, row, 2, piece);
      }
    }
    cp_async_commit();  // behind the last chunk, nothing: so that there is always one group to be left pending
  };
  start_chunk(part.first);
  cp_async_wait<1>();
  __syncthreads();
  std::uint32_t query[Dim / 16][4];
#pragma unroll
  for (int k = 0; k < Dim / 16; ++k) {
    ldmatrix_x4(query[k], queries + (first_row + lane % 16) * B::kStride + 16 * k + lane / 16 * 8);
  }
  __syncthreads();

  const float scale = 1.4426950408889634F / sqrtf(static_cast<float>(head_size * terms_of<KeyList>(work)));
  const int index = tile.index + first_row;  // of this warp's first row in its group

  Sums<Dim> sums;
  for (int chunk = part.first; chunk < part.end; ++chunk) {
    start_chunk(chunk + 1);
    cp_async_wait<1>();
    __syncthreads();
    const T* const key_rows = shared + chunk % 2 * B::kBuffer;
    const T* const value_rows = key_rows + B::kChunk * B::kStride;
    for (int in_chunk = 0; in_chunk < B::kChunk; in_chunk += 16) {
      const int slot = chunk * B::kChunk + in_chunk;
      if (slot >= keys.slots || first_row >= tile.tokens) break;
      if (share_keys && slot / 16 % kWarps != warp) continue;
      if (keys.skips(work, slot, index)) continue;
      float scores[2][4] = {};
#pragma unroll
      for (int k = 0; k < Dim / 16; ++k) {
        std::uint32_t key[4];
        ldmatrix_x4(key, key_rows + (in_chunk + lane / 16 * 8 + lane % 8) * B::kStride + 16 * k + lane / 8 % 2 * 8);
        const std::uint32_t low[2] = {key[0], key[1]}, high[2] = {key[2], key[3]};
        mma_m16n8k16<T>(scores[0], query[k], low);
        mma_m16n8k16<T>(scores[1], query[k], high);
      }
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int key = slot + 8 * n + lane % 4 * 2 + e % 2;
          const int row = lane / 4 + e / 2 * 8;
          const bool seen = keys.exists(key) && !keys.hides(work, key, index + row);
          if constexpr (std::is_same_v<KeyList, KeysDisentangled>) {
            if (seen && first_row + row < tile.tokens) {
              scores[n][e] += keys.template relative<T>(work, static_cast<int>(blockIdx.x), tile.row + first_row + row,
                                                        key, index + row);
            }
          }
          scores[n][e] = seen ? scores[n][e] * scale : -INFINITY;
        }
      }
      sums.rescale(scores);
      const std::uint32_t weights[4] = {pair<T>(scores[0][0], scores[0][1]), pair<T>(scores[0][2], scores[0][3]),
                                        pair<T>(scores[1][0], scores[1][1]), pair<T>(scores[1][2], scores[1][3])};
#pragma unroll
      for (int n = 0; n < Dim / 16; ++n) {
        std::uint32_t value[4];
        ldmatrix_x4_trans(value, value_rows + (in_chunk + lane % 16) * B::kStride + 16 * n + lane / 16 * 8);
        const std::uint32_t low[2] = {value[0], value[1]}, high[2] = {value[2], value[3]};
        mma_m16n8k16<T>(sums.values[2 * n], weights, low);
        mma_m16n8k16<T>(sums.values[2 * n + 1], weights, high);
      }
    }
    __syncthreads();
  }
  sums.finish();

  float* const part_sums = KeyPart::sums(work, work.tiles[blockIdx.y]);  // read again: registers are scarce until here
  T* const results = context + static_cast<std::int64_t>(tile.row) * hidden + blockIdx.x * head_size;
  if (share_keys) {
    float* const of_warps = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float* const row = of_warps + (16 * warp + lane / 4 + 8 * half) * B::kMergeStride;
#pragma unroll
      for (int n = 0; n < Dim / 8; ++n) {
        row[8 * n + lane % 4 * 2] = sums.values[n][2 * half];
        row[8 * n + lane % 4 * 2 + 1] = sums.values[n][2 * half + 1];
      }
      if (lane % 4 == 0) row[Dim] = sums.highest[half], row[Dim + 1] = sums.total[half];
    }
    __syncthreads();
    for (int i = thread; i < tile.tokens * head_size; i += kThreads) {
      const float* const row = of_warps + i / head_size * B::kMergeStride;
      float highest = -INFINITY, value = 0, total = 0;
      for (int w = 0; w < kWarps; ++w) highest = fmaxf(highest, row[w * 16 * B::kMergeStride + Dim]);
      const float base = highest == -INFINITY ? 0.0F : highest;  // a part of a [CLS] whose keys are all hidden
      for (int w = 0; w < kWarps; ++w) {
        const float* const of_warp = row + w * 16 * B::kMergeStride;
        const float weight = exp2f(of_warp[Dim] - base);
        value += of_warp[i % head_size] * weight;
        total += of_warp[Dim + 1] * weight;
      }
      if (part_sums != nullptr) {
        float* const to = part_sums + blockIdx.x * (head_size + 2);
        to[i] = value;
        if (i == 0) to[head_size] = highest, to[head_size + 1] = total;
        continue;
      }
      results[static_cast<std::int64_t>(i / head_size) * hidden + i % head_size] = from_float<T>(value / total);
    }
    return;
  }

  // Through shared memory, so that whole rows are written.
  T* const rows = shared + 16 * warp * B::kStride;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float inverse = 1.0F / sums.total[half];
#pragma unroll
    for (int n = 0; n < Dim / 8; ++n) {
      const std::uint32_t word = pair<T>(sums.values[n][2 * half] * inverse, sums.values[n][2 * half + 1] * inverse);
      *reinterpret_cast<std::uint32_t*>(rows + (lane / 4 + 8 * half) * B::kStride + 8 * n + lane % 4 * 2) = word;
    }
  }
  __syncwarp();
  for (int i = lane; i < 16 * (head_size / 8); i += 32) {
    const int row = i / (head_size / 8), piece = i % (head_size / 8);
    if (first_row + row >= tile.tokens) break;
    *reinterpret_cast<uint4*>(results + static_cast<std::int64_t>(first_row + row) * hidden + 8 * piece) =
        *reinterpret_cast<const uint4*>(rows + row * B::kStride + 8 * piece);
  }
}

// grid: (heads, sequences); a thread per feature of a head. context [rows, hidden]: the [CLS] that have several parts.
template <typename T>
__global__ void __launch_bounds__(kMaxHeadSize) merge_parts(AttentionWork work, T* context) {
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
                      : work.relative.reach > 0  ? attend<T, Dim, KeysDisentangled>
                      : work.pattern.globals     ? attend<T, Dim, KeysWithGlobals>
                      : work.pattern.by_position ? attend<T, Dim, KeysByPosition>
                                                 : attend<T, Dim, Keys>;
  return launch(kernel, grid, dim3(kThreads), Buffers<Dim>::kBytes, stream, work, static_cast<const T*>(qkv),
                static_cast<T*>(context));
}

template <typename T>
cudaError_t start(const AttentionWork& work, const void* qkv, void* context, cudaStream_t stream) {
  if (work.head_size <= 16) return start<T, 16>(work, qkv, context, stream);
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
