// Activations that cublasLt's products do not compute themselves, and the head.
#include <cmath>

#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ float activated(float x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return fmaxf(x, 0.0F);
    case Activation::silu: return x / (1.0F + expf(-x));
    case Activation::gelu_erf: return 0.5F * x * (1.0F + erff(x * 0.70710678118654752F));
    case Activation::gelu_tanh: {
      constexpr float root = 0.79788456080286536F;  // sqrt(2 / pi)
      return 0.5F * x * (1.0F + tanhf(root * (x + 0.044715F * x * x * x)));
    }
    case Activation::gelu_10: return fminf(0.5F * x * (1.0F + erff(x * 0.70710678118654752F)), 10.0F);
    case Activation::quick_gelu: return x / (1.0F + expf(-1.702F * x));
    case Activation::mish: {
      const float power = expf(fminf(x, 20.0F)), n = power * (power + 2.0F);  // tanh(ln(1 + p)) = n / (n + 2)
      return x * (n / (n + 2.0F));
    }
    case Activation::tanh: return tanhf(x);
  }
  return x;
}

// One pack of 16 bytes per thread, `packs` in all. Gated: `row_packs` packs of x, then as many of its gate, make a row.
template <typename T, bool Gated>
__global__ void __launch_bounds__(kThreads)
    activate_elements(Activation activation, T* x, std::int64_t packs, int row_packs) {
  wait_for_previous();
  std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pack >= packs) return;
  if constexpr (Gated) pack += pack / row_packs * row_packs;
  float values[kPack<T>];
  load(x + pack * kPack<T>, values);
#pragma unroll
  for (float& value : values) value = activated(value, activation);
  if constexpr (Gated) {
    float gate[kPack<T>];
    load(x + (pack + row_packs) * kPack<T>, gate);
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) values[i] *= gate[i];
  }
  store(x + pack * kPack<T>, values);
}

// One warp per row.
template <typename T>
__global__ void __launch_bounds__(32) head_step_rows(HeadStepWork work, const T* states, int size, T* y) {
  wait_for_previous();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * size;
  const int lane = static_cast<int>(threadIdx.x);
  const auto value = [&](int i) {
    float x = work.dense == nullptr ? to_float(states[first + i]) : work.dense[first + i] + work.bias[i];
    x = activated(x, work.activation);
    if (work.adds_states) x += to_float(states[first + i]);
    if (work.residual != nullptr) x += work.residual[first + i] + work.residual_bias[i];
    return x;
  };
  const bool normalizes = work.norm.gamma != nullptr;
  float mean = 0, scale = 1;
  if (normalizes) {
    float sum = 0, squares = 0;
    for (int i = lane; i < size; i += 32) sum += value(i);
    mean = work.norm.rms ? 0.0F : warp_sum(sum) / static_cast<float>(size);
    for (int i = lane; i < size; i += 32) squares += (value(i) - mean) * (value(i) - mean);
    scale = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(size) + work.norm.epsilon);
  }
  for (int i = lane; i < size; i += 32) {
    float x = value(i);
    if (normalizes) x = (x - mean) * scale * work.norm.gamma[i] + work.norm.beta[i];
    y[first + i] = from_float<T>(x);
  }
}

// One warp per row.
__global__ void __launch_bounds__(32) finish_vector(const float* bias, bool unit, int size, float* vectors) {
  wait_for_previous();
  float* const row = vectors + static_cast<std::int64_t>(blockIdx.x) * size;
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < size; i += 32) {
    const float x = row[i] + bias[i];
    row[i] = x;
    squares += x * x;
  }
  if (!unit) return;
  const float length = fmaxf(sqrtf(warp_sum(squares)), 1e-12F);  // as in PyTorch's normalize()
  for (int i = static_cast<int>(threadIdx.x); i < size; i += 32) row[i] /= length;
}

constexpr int kHeadWarps = 4;
constexpr int kHeadThreads = 32 * kHeadWarps;

/// The same sum in every thread of a block of kHeadThreads. shared: [kHeadWarps], nothing else's since the last
/// barrier.
__device__ __forceinline__ float block_sum(float value, float* shared) {
  const float of_warp = warp_sum(value);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = of_warp;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kHeadWarps; ++warp) sum += shared[warp];
  return sum;
}

// One block per row. Shared memory: float[3][kHeadWarps].
template <typename T>
__global__ void __launch_bounds__(kHeadThreads) head_rows(HeadWork work, const T* states, int hidden, float* logits) {
  wait_for_previous();
  constexpr int most = kMaxHidden / kHeadThreads;  // features of a thread
  float* const shared = reinterpret_cast<float*>(shared_memory());
  const T* const row = states + static_cast<std::int64_t>(blockIdx.x) * hidden;
  const int thread = static_cast<int>(threadIdx.x);
  float values[most];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < most; ++k) {
    const int i = thread + k * kHeadThreads;
    if (i >= hidden) break;
    const float x = to_float(row[i]);
    values[k] = activated(work.bias == nullptr ? x : x + work.bias[i], work.activation);
    sum += values[k];
  }
  if (work.norm.gamma != nullptr) {
    const float mean = work.norm.rms ? 0.0F : block_sum(sum, shared) / static_cast<float>(hidden);
    float squares = 0;
#pragma unroll
    for (int k = 0; k < most; ++k) {
      if (thread + k * kHeadThreads >= hidden) break;
      values[k] -= mean;
      squares += values[k] * values[k];
    }
    const float variance = block_sum(squares, shared + kHeadWarps) / static_cast<float>(hidden);
    const float scale = 1.0F / sqrtf(variance + work.norm.epsilon);
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int i = thread + k * kHeadThreads;
      if (i >= hidden) break;
      values[k] = values[k] * scale * work.norm.gamma[i] + work.norm.beta[i];
    }
  }
  float first = 0, highest = -INFINITY, total = 0;
  for (int output = 0; output < work.outputs; ++output) {
    const float* const weights = work.output + output * hidden;
    float product = 0;
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int i = thread + k * kHeadThreads;
      if (i >= hidden) break;
      product += values[k] * weights[i];
    }
    __syncthreads();  // the sum before has been read
    product = block_sum(product, shared + 2 * kHeadWarps) + work.output_bias[output];
    if (output == 0) first = product;
    if (work.classifies && thread == 0) {
      logits[static_cast<std::int64_t>(blockIdx.x) * work.outputs + output] = product;
    }
    const float next = fmaxf(highest, product);
    total = total * expf(highest - next) + expf(product - next);
    highest = next;
  }
  if (thread == 0 && !work.classifies) logits[blockIdx.x] = work.outputs == 1 ? first : first - highest - logf(total);
}

template <bool Gated>
cudaError_t start(Element element, Activation activation, void* x, int size, int rows, cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    const int row_packs = size / kPack<T>;
    const std::int64_t packs = static_cast<std::int64_t>(rows) * row_packs;
    return launch(activate_elements<T, Gated>, dim3(static_cast<unsigned>((packs + kThreads - 1) / kThreads)),
                  dim3(kThreads), 0, stream, activation, static_cast<T*>(x), packs, row_packs);
  });
}

}  // namespace

cudaError_t activate(Element element, Activation activation, bool gated, void* x, int size, int rows,
                     cudaStream_t stream) {
  return gated ? start<true>(element, activation, x, size, rows, stream)
               : start<false>(element, activation, x, size, rows, stream);
}

cudaError_t finish_vectors(const float* bias, bool unit, int size, int rows, float* vectors, cudaStream_t stream) {
  return launch(finish_vector, dim3(static_cast<unsigned>(rows)), dim3(32), 0, stream, bias, unit, size, vectors);
}

cudaError_t head_step(Element element, const HeadStepWork& work, const void* states, int size, int rows, void* y,
                      cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(head_step_rows<T>, dim3(static_cast<unsigned>(rows)), dim3(32), 0, stream, work,
                  static_cast<const T*>(states), size, static_cast<T*>(y));
  });
}

cudaError_t head(Element element, const HeadWork& work, const void* states, int hidden, int rows, float* logits,
                 cudaStream_t stream) {
  return with_element(element, [&]<typename T>(T) {
    return launch(head_rows<T>, dim3(static_cast<unsigned>(rows)), dim3(kHeadThreads), 3 * kHeadWarps * sizeof(float),
                  stream, work, static_cast<const T*>(states), hidden, logits);
  });
}

}  // namespace relucent::cuda
