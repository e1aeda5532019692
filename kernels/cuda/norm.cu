// Embedding and residual sums followed by LayerNorm: one warp per token, which keeps its features in registers.
#include "instructions.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;  // per block, one token each

/// One token's features: lane l holds packs l, l + 32, ... of them.
template <typename T, int Packs>
struct Features {
  float values[Packs][kPack<T>];

  __device__ __forceinline__ static bool has(int pack, int hidden) { return pack * kPack<T> < hidden; }

  __device__ __forceinline__ void load_row(const T* row, int hidden, int lane) {
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      if (has(lane + 32 * i, hidden)) load(row + (lane + 32 * i) * kPack<T>, values[i]);
    }
  }

  __device__ __forceinline__ void add_row(const T* row, int hidden, int lane) {
    float other[kPack<T>];
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      if (!has(lane + 32 * i, hidden)) continue;
      load(row + (lane + 32 * i) * kPack<T>, other);
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) values[i][k] += other[k];
    }
  }

  __device__ __forceinline__ void store_row(T* row, int hidden, int lane) const {
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      if (has(lane + 32 * i, hidden)) store(row + (lane + 32 * i) * kPack<T>, values[i]);
    }
  }

  /// Writes LayerNorm(values) * gamma + beta.
  __device__ __forceinline__ void normalize_to(T* row, const Norm& norm, int hidden, int lane) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      if (!has(lane + 32 * i, hidden)) continue;
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) sum += values[i][k];
    }
    const float mean = warp_sum(sum) / static_cast<float>(hidden);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      if (!has(lane + 32 * i, hidden)) continue;
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) squares += (values[i][k] - mean) * (values[i][k] - mean);
    }
    const float scale = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(hidden) + norm.epsilon);
    float out[kPack<T>];
#pragma unroll
    for (int i = 0; i < Packs; ++i) {
      const int first = (lane + 32 * i) * kPack<T>;
      if (first >= hidden) continue;
#pragma unroll
      for (int k = 0; k < kPack<T>; k += 4) {
        float gamma[4], beta[4];
        load(norm.gamma + first + k, gamma);
        load(norm.beta + first + k, beta);
#pragma unroll
        for (int j = 0; j < 4; ++j) out[k + j] = (values[i][k + j] - mean) * scale * gamma[j] + beta[j];
      }
      store(row + first, out);
    }
  }
};

// x[row] = LN(word[id] + position[p] + type[t]), as far as they are there. Tables and x: rows of `hidden` elements.
template <typename T, int Packs>
__global__ void __launch_bounds__(32 * kWarps) embed_rows(const Token* tokens, const T* word, const T* position,
                                                          const T* type, Norm norm, int hidden, int rows, T* x) {
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const Token token = tokens[row];
  const auto at = [hidden](std::int32_t index) { return static_cast<std::int64_t>(index) * hidden; };
  Features<T, Packs> features;
  features.load_row(word + at(token.id), hidden, lane);
  if (position != nullptr) features.add_row(position + at(position_of(token)), hidden, lane);
  if (type != nullptr) features.add_row(type + at(token.position_and_type >> kTypeBit), hidden, lane);
  if (norm.gamma != nullptr) {
    features.normalize_to(x + at(row), norm, hidden, lane);
  } else {
    features.store_row(x + at(row), hidden, lane);
  }
}

// x = LN(x + y), rows of `hidden` elements.
template <typename T, int Packs>
__global__ void __launch_bounds__(32 * kWarps) add_norm_rows(const T* y, Norm norm, int hidden, int rows, T* x) {
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const std::int64_t first = static_cast<std::int64_t>(row) * hidden;
  Features<T, Packs> features;
  features.load_row(x + first, hidden, lane);
  features.add_row(y + first, hidden, lane);
  features.normalize_to(x + first, norm, hidden, lane);
}

// x += y unless y is null, then normed = LN(x), rows of `hidden` elements.
template <typename T, int Packs>
__global__ void __launch_bounds__(32 * kWarps)
    add_then_norm_rows(const T* y, Norm norm, int hidden, int rows, T* x, T* normed) {
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const std::int64_t first = static_cast<std::int64_t>(row) * hidden;
  Features<T, Packs> features;
  features.load_row(x + first, hidden, lane);
  if (y != nullptr) {
    features.add_row(y + first, hidden, lane);
    features.store_row(x + first, hidden, lane);
  }
  features.normalize_to(normed + first, norm, hidden, lane);
}

unsigned blocks_for(int rows) { return static_cast<unsigned>((rows + kWarps - 1) / kWarps); }

/// Calls action.template operator()<T, Packs>() with the fewest packs per lane that hold `hidden` elements.
template <typename T, typename Action>
cudaError_t with_packs(int hidden, const Action& action) {
  const int packs = (hidden / kPack<T> + 31) / 32;
  if (packs <= 1) return action.template operator()<T, 1>();
  if (packs <= 2) return action.template operator()<T, 2>();
  if (packs <= 4) return action.template operator()<T, 4>();
  if constexpr (8 * 32 * kPack<T> < kMaxHidden) {
    if (packs > 8) return action.template operator()<T, 16>();
  }
  return action.template operator()<T, 8>();
}

}  // namespace

cudaError_t embed(Element element, const Token* tokens, const EmbeddingTables& tables, const Norm& norm, int size,
                  int rows, void* x, cudaStream_t stream) {
  return with_element(element, [&]<typename E>(E) {
    return with_packs<E>(size, [&]<typename T, int Packs>() {
      return launch(embed_rows<T, Packs>, dim3(blocks_for(rows)), dim3(32 * kWarps), 0, stream, tokens,
                    static_cast<const T*>(tables.word), static_cast<const T*>(tables.position),
                    static_cast<const T*>(tables.type), norm, size, rows, static_cast<T*>(x));
    });
  });
}

cudaError_t add_norm(Element element, const void* y, const Norm& norm, int hidden, int rows, void* x,
                     cudaStream_t stream) {
  return with_element(element, [&]<typename E>(E) {
    return with_packs<E>(hidden, [&]<typename T, int Packs>() {
      return launch(add_norm_rows<T, Packs>, dim3(blocks_for(rows)), dim3(32 * kWarps), 0, stream,
                    static_cast<const T*>(y), norm, hidden, rows, static_cast<T*>(x));
    });
  });
}

cudaError_t add_then_norm(Element element, const void* y, const Norm& norm, int hidden, int rows, void* x, void* normed,
                          cudaStream_t stream) {
  return with_element(element, [&]<typename E>(E) {
    return with_packs<E>(hidden, [&]<typename T, int Packs>() {
      return launch(add_then_norm_rows<T, Packs>, dim3(blocks_for(rows)), dim3(32 * kWarps), 0, stream,
                    static_cast<const T*>(y), norm, hidden, rows, static_cast<T*>(x), static_cast<T*>(normed));
    });
  });
}

}  // namespace relucent::cuda
