// Embedding and residual sums followed by LayerNorm or RMSNorm: one warp per token, which keeps its features in
// registers. The sums themselves may be fp32 where everything else has 16 bits: those of RMSNorm encoders outgrow fp16.
#include "instructions.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kWarps = 4;  // per block, one token each

constexpr int kFour = 4;  // elements that a lane loads at a time; a warp's 128 divide most hidden sizes

/// One token's features: lane l holds fours l, l + 32, ... of them.
template <int Fours>
struct Features {
  float values[Fours][kFour];

  __device__ __forceinline__ static bool has(int four, int hidden) { return four * kFour < hidden; }

  template <typename T>
  __device__ __forceinline__ void load_row(const T* row, int hidden, int lane) {
#pragma unroll
    for (int i = 0; i < Fours; ++i) {
      if (has(lane + 32 * i, hidden)) load_four(row + (lane + 32 * i) * kFour, values[i]);
    }
  }

  template <typename T>
  __device__ __forceinline__ void add_row(const T* row, int hidden, int lane) {
    float other[kFour];
#pragma unroll
    for (int i = 0; i < Fours; ++i) {
      if (!has(lane + 32 * i, hidden)) continue;
      load_four(row + (lane + 32 * i) * kFour, other);
#pragma unroll
      for (int k = 0; k < kFour; ++k) values[i][k] += other[k];
    }
  }

  template <typename T>
  __device__ __forceinline__ void store_row(T* row, int hidden, int lane) const {
#pragma unroll
    for (int i = 0; i < Fours; ++i) {
      if (has(lane + 32 * i, hidden)) store_four(row + (lane + 32 * i) * kFour, values[i]);
    }
  }

  /// Writes LayerNorm(values) * gamma + beta, or RMSNorm.
  template <typename T>
  __device__ __forceinline__ void normalize_to(T* row, const Norm& norm, int hidden, int lane) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Fours; ++i) {
      if (!has(lane + 32 * i, hidden)) continue;
#pragma unroll
      for (int k = 0; k < kFour; ++k) sum += values[i][k];
    }
    const float mean = norm.rms ? 0.0F : warp_sum(sum) / static_cast<float>(hidden);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < Fours; ++i) {
      if (!has(lane + 32 * i, hidden)) continue;
#pragma unroll
      for (int k = 0; k < kFour; ++k) squares += (values[i][k] - mean) * (values[i][k] - mean);
    }
    const float scale = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(hidden) + norm.epsilon);
#pragma unroll
    for (int i = 0; i < Fours; ++i) {
      const int first = (lane + 32 * i) * kFour;
      if (first >= hidden) continue;
      float gamma[kFour], beta[kFour], out[kFour];
      load(norm.gamma + first, gamma);
      load(norm.beta + first, beta);
#pragma unroll
      for (int k = 0; k < kFour; ++k) out[k] = (values[i][k] - mean) * scale * gamma[k] + beta[k];
      store_four(row + first, out);
    }
  }
};

// x[row] = LN(word[id] + position[p] + type[t]), as far as they are there. Tables and x: rows of `hidden` elements.
template <typename T, typename X, int Fours>
__global__ void __launch_bounds__(32 * kWarps) embed_rows(const Token* tokens, const T* word, const T* position,
                                                          const T* type, Norm norm, int hidden, int rows, X* x) {
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const Token token = tokens[row];
  const auto at = [hidden](std::int32_t index) { return static_cast<std::int64_t>(index) * hidden; };
  Features<Fours> features;
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
template <typename T, int Fours>
__global__ void __launch_bounds__(32 * kWarps) add_norm_rows(const T* y, Norm norm, int hidden, int rows, T* x) {
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const std::int64_t first = static_cast<std::int64_t>(row) * hidden;
  Features<Fours> features;
  features.load_row(x + first, hidden, lane);
  features.add_row(y + first, hidden, lane);
  features.normalize_to(x + first, norm, hidden, lane);
}

// x += y + bias unless they are null, then normed = LN(x), rows of `hidden` elements.
template <typename T, typename X, int Fours>
__global__ void __launch_bounds__(32 * kWarps)
    add_then_norm_rows(const X* y, const T* bias, Norm norm, int hidden, int rows, X* x, T* normed) {
  wait_for_previous();
  const int row = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const std::int64_t first = static_cast<std::int64_t>(row) * hidden;
  Features<Fours> features;
  features.load_row(x + first, hidden, lane);
  if (y != nullptr) {
    features.add_row(y + first, hidden, lane);
    if (bias != nullptr) features.add_row(bias, hidden, lane);
    features.store_row(x + first, hidden, lane);
  }
  features.normalize_to(normed + first, norm, hidden, lane);
}

unsigned blocks_for(int rows) { return static_cast<unsigned>((rows + kWarps - 1) / kWarps); }

/// Calls action.template operator()<T, Fours>() with the fewest fours per lane, of those compiled, for `hidden`
/// elements.
template <typename T, typename Action>
cudaError_t with_fours(int hidden, const Action& action) {
  static_assert(16 * 32 * kFour == kMaxHidden);
  const int fours = (hidden / kFour + 31) / 32;
  if (fours <= 1) return action.template operator()<T, 1>();
  if (fours <= 2) return action.template operator()<T, 2>();
  if (fours <= 3) return action.template operator()<T, 3>();
  if (fours <= 4) return action.template operator()<T, 4>();
  if (fours <= 6) return action.template operator()<T, 6>();
  if (fours <= 8) return action.template operator()<T, 8>();
  return action.template operator()<T, 16>();
}

/// Calls action.template operator()<T, X>() with the types that `element` and `sums` name.
template <typename Action>
cudaError_t with_sums(Element element, Element sums, const Action& action) {
  return with_element(element, [&]<typename T>(T) {
    return sums == element ? action.template operator()<T, T>() : action.template operator()<T, float>();
  });
}

}  // namespace

cudaError_t embed(Element element, Element sums, const Token* tokens, const EmbeddingTables& tables, const Norm& norm,
                  int size, int rows, void* x, cudaStream_t stream) {
  return with_sums(element, sums, [&]<typename E, typename X>() {
    return with_fours<E>(size, [&]<typename T, int Fours>() {
      return launch(embed_rows<T, X, Fours>, dim3(blocks_for(rows)), dim3(32 * kWarps), 0, stream, tokens,
                    static_cast<const T*>(tables.word), static_cast<const T*>(tables.position),
                    static_cast<const T*>(tables.type), norm, size, rows, static_cast<X*>(x));
    });
  });
}

cudaError_t add_norm(Element element, const void* y, const Norm& norm, int hidden, int rows, void* x,
                     cudaStream_t stream) {
  return with_element(element, [&]<typename E>(E) {
    return with_fours<E>(hidden, [&]<typename T, int Fours>() {
      return launch(add_norm_rows<T, Fours>, dim3(blocks_for(rows)), dim3(32 * kWarps), 0, stream,
                    static_cast<const T*>(y), norm, hidden, rows, static_cast<T*>(x));
    });
  });
}

cudaError_t add_then_norm(Element element, Element sums, const Added& added, const Norm& norm, int hidden, int rows,
                          void* x, void* normed, cudaStream_t stream) {
  return with_sums(element, sums, [&]<typename E, typename X>() {
    return with_fours<E>(hidden, [&]<typename T, int Fours>() {
      return launch(add_then_norm_rows<T, X, Fours>, dim3(blocks_for(rows)), dim3(32 * kWarps), 0, stream,
                    static_cast<const X*>(added.y), static_cast<const T*>(added.bias), norm, hidden, rows,
                    static_cast<X*>(x), static_cast<T*>(normed));
    });
  });
}

}  // namespace relucent::cuda
