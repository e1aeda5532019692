#pragma once

#include <cstddef>
#include <cstdint>

namespace relucent::cpu {

/// Rows that a token attends to: `count` of them from `keys` and `values`, `stride` floats apart.
struct Segment {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::size_t stride = 0;
  std::size_t count = 0;
};

/// The element-wise and attention kernels of one instruction set, in fp32. No alignment is presumed, every length is
/// allowed, nothing is written outside the outputs named. Results depend on the arguments alone.
struct VectorKernels {
  const char* name;

  /// One token, one head: output[i] = sum_k softmax_k(scale * query . key_k) value_k[i] over all rows of the segments
  /// in their order. query, output: [head_size]; scores: scratch for one float a row.
  void (*attend)(const float* query, const Segment* segments, std::size_t segment_count, std::size_t head_size,
                 float scale, float* scores, float* output);

  /// products[k] = vector . rows[k]; rows: [count] of `size` floats, `stride` apart.
  void (*dot_products)(const float* vector, const float* rows, std::size_t stride, std::size_t count, std::size_t size,
                       float* products);
  /// output[i] = sum_k weights[k] rows[k][i].
  void (*weighted_sum)(const float* weights, const float* rows, std::size_t stride, std::size_t count, std::size_t size,
                       float* output);
  /// values <- softmax(values), in place.
  void (*softmax)(float* values, std::size_t count);

  /// x <- LayerNorm(x + y + bias) row by row; x: [rows, size], y: [rows, size] or null for none, bias: [size] or null.
  void (*add_layer_norm)(float* x, const float* y, const float* bias, const float* gamma, const float* beta,
                         float epsilon, std::size_t rows, std::size_t size);

  /// x <- GELU(x + bias) with erf; x: [rows, size].
  void (*add_gelu)(float* x, const float* bias, std::size_t rows, std::size_t size);
  /// x <- x + bias; x: [rows, size].
  void (*add_bias)(float* x, const float* bias, std::size_t rows, std::size_t size);

  /// to[i] = bf16(from[i]), to nearest, ties to even; as 16-bit numbers, or kept in fp32.
  void (*round_to_bf16)(const float* from, std::uint16_t* to, std::size_t count);
  void (*round_within_f32)(const float* from, float* to, std::size_t count);
};

/// The levels of this build that the processor can run, the best one last; never empty ("plain" comes first).
struct VectorLevels {
  const VectorKernels* levels[3];
  std::size_t count;
};
VectorLevels available_vector_kernels();

namespace plain { extern const VectorKernels kernels; }
namespace avx2 { extern const VectorKernels kernels; }
namespace avx512 { extern const VectorKernels kernels; }

}  // namespace relucent::cpu
