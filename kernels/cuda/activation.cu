// GELU for precisions for which cublasLt's tanh approximation is not exact enough, and the head.
#include "instructions.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/numbers.h"

namespace relucent::cuda {
namespace {

constexpr int kThreads = 256;

// x = GELU(x), 4 elements per thread.
__global__ void __launch_bounds__(kThreads) gelu_elements(float* x, std::int64_t packs) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pack >= packs) return;
  float values[4];
  load(x + 4 * pack, values);
#pragma unroll
  for (float& value : values) value = 0.5F * value * (1.0F + erff(value * 0.70710678118654752F));
  store(x + 4 * pack, values);
}

// One warp per row.
__global__ void __launch_bounds__(32) head_rows(const float* pooled, const float* pooler_bias, const float* classifier,
                                                const float* classifier_bias, int hidden, float* logits) {
  const float* row = pooled + static_cast<std::int64_t>(blockIdx.x) * hidden;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < hidden; i += 32)
    sum += tanhf(row[i] + pooler_bias[i]) * classifier[i];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) logits[blockIdx.x] = sum + classifier_bias[0];
}

}  // namespace

cudaError_t gelu(float* x, std::int64_t count, cudaStream_t stream) {
  const std::int64_t packs = count / 4;
  return launch(gelu_elements, dim3(static_cast<unsigned>((packs + kThreads - 1) / kThreads)), dim3(kThreads), 0,
                stream, x, packs);
}

cudaError_t head(const float* pooled, const float* pooler_bias, const float* classifier, const float* classifier_bias,
                 int hidden, int rows, float* logits, cudaStream_t stream) {
  return launch(head_rows, dim3(static_cast<unsigned>(rows)), dim3(32), 0, stream, pooled, pooler_bias, classifier,
                classifier_bias, hidden, logits);
}

}  // namespace relucent::cuda
