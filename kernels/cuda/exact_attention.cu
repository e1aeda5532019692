// Attention in fp32: one warp per row, whose lanes take one key each for the scores and the features for the sums.
#include <cmath>
#include <type_traits>

#include "instructions.h"
#include "kernels/cuda/keys.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;
// Blocks that a multiprocessor must have room for. Not told, or told more, ptxas spills some registers.
template <typename KeyList>
constexpr int kLeastBlocks = std::is_same_v<KeyList, Keys> || std::is_same_v<KeyList, KeysByPosition> ? 4
                             : std::is_same_v<KeyList, KeysLinked>                                    ? 3
                                                                                                      : 2;
constexpr int kMaxFeatures = kMaxHeadSize / 32;  // per lane

// grid: (heads, tiles). qkv [rows, 3 * hidden], context [rows, hidden]; head_size a multiple of 4, at most
// kMaxHeadSize.
template <typename KeyList>
__global__ void __launch_bounds__(32 * kWarps, kLeastBlocks<KeyList>)
    attend_exactly(AttentionWork work, const float* qkv, float* context) {
  wait_for_previous();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const AttentionTile tile = work.tiles[blockIdx.y];
  if (tile.tokens == 0) return;
  const KeyList keys(work, tile);
  const KeyPart part(work, tile, keys.slots, 32);
  const int head_size = work.head_size, hidden = work.heads * head_size;
  const std::int64_t stride = 3 * static_cast<std::int64_t>(hidden);
  const float* const of_head = qkv + static_cast<std::int64_t>(blockIdx.x) * head_size;
  float* const weights = reinterpret_cast<float*>(shared_memory()) + 64 * warp;  // of the current 32 keys
  int* const rows = reinterpret_cast<int*>(weights + 32);                        // rows of their values

  for (int row = warp; row < tile.tokens; row += kWarps) {
    const float* const query = of_head + (tile.row + row) * stride;
    const int index = tile.index + row;
    const auto seen = keys.seen_from(work, index);
    float highest = -INFINITY, total = 0, sums[kMaxFeatures] = {};
    for (int chunk = part.first; chunk < part.end; ++chunk) {
      const int slot = 32 * chunk + lane;
      const int key_row = seen(slot) ? keys.row(slot) : -1;
      float score = -INFINITY;
      if (key_row >= 0) {
        const float* const key = of_head + key_row * stride + hidden;
        float product = 0;
        for (int i = 0; i < head_size; i += 4) {
          float a[4], b[4];
          load(query + i, a);
          load(key + i, b);
#pragma unroll
          for (int k = 0; k < 4; ++k) product = fmaf(a[k], b[k], product);
        }
        if constexpr (std::is_same_v<KeyList, KeysRelative>) {
          product += keys.template relative<float>(work, static_cast<int>(blockIdx.x), tile.row + row, slot, index);
        }
        score = product * work.scale;
      }
      const float next = fmaxf(highest, warp_max(score));
      if (next == -INFINITY) continue;  // no key seen so far
      const float weight = expf(score - next), keep = expf(highest - next);
      highest = next;
      total = total * keep + weight;
#pragma unroll
      for (float& sum : sums) sum *= keep;
      weights[lane] = weight;
      rows[lane] = key_row;
      __syncwarp();
      for (int k = 0; k < 32; ++k) {
        if (rows[k] < 0) continue;
        const float of_key = weights[k];
        const float* const value = of_head + rows[k] * stride + 2 * hidden;
#pragma unroll
        for (int i = 0; i < kMaxFeatures; ++i) {
          if (lane + 32 * i < head_size) sums[i] = fmaf(of_key, value[lane + 32 * i], sums[i]);
        }
      }
      __syncwarp();
    }
    total = warp_sum(total);
    float* const part_sums = KeyPart::sums(work, work.tiles[blockIdx.y]);
    const bool split = part_sums != nullptr;
    const float inverse = split ? 1.0F : 1.0F / total;
    float* const to = split ? part_sums + blockIdx.x * (head_size + 2)
                            : context + static_cast<std::int64_t>(tile.row + row) * hidden + blockIdx.x * head_size;
    if (split && lane == 0) to[head_size] = highest, to[head_size + 1] = total;
#pragma unroll
    for (int i = 0; i < kMaxFeatures; ++i) {
      if (lane + 32 * i < head_size) to[lane + 32 * i] = sums[i] * inverse;
    }
  }
}

}  // namespace

cudaError_t exact_attention(const AttentionWork& work, const float* qkv, float* context, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(work.heads), static_cast<unsigned>(work.tile_count));
  const auto kernel = work.pattern.linked        ? attend_exactly<KeysLinked>
                      : work.relative.reach > 0  ? attend_exactly<KeysRelative>
                      : work.pattern.globals     ? attend_exactly<KeysWithGlobals>
                      : work.pattern.by_position ? attend_exactly<KeysByPosition>
                                                 : attend_exactly<Keys>;
  return launch(kernel, grid, dim3(32 * kWarps), kWarps * 64 * sizeof(float), stream, work, qkv, context);
}

}  // namespace relucent::cuda
