// The descriptions that cublasLt takes of a product and gives of an algorithm. Nothing here needs a device. Host code.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/cuda/element.h"

namespace relucent::cuda {

/// y[b] = x[b] W[b]^T + bias for b < batch; x[b]: [rows, in], W[b]: [out, in], y[b]: [rows, out], all row-major.
struct MatmulForm {
  Element element = Element::f16;  ///< of x, W, the bias and y; sums are fp32
  bool tf32 = false;               ///< Element::f32 with products of 10-bit mantissas
  int out = 0, in = 0;
  int x_stride = 0, y_stride = 0;  ///< elements from row to row
  const void* weight = nullptr;
  int weight_stride = 0;              ///< elements from row to row of W as it is stored; 0: no gaps
  bool weight_is_transposed = false;  ///< W[b] is stored as [in, out]
  const void* bias = nullptr;         ///< [out]; none if null
  bool gelu = false;                  ///< y = GELU(...), cublasLt's: the tanh approximation
  bool float_result = false;          ///< y is fp32 whatever `element` is; without bias
  int alignment = 256;                ///< of x and y, bytes; not of a batch
  int batch = 1;
  std::int64_t x_batch = 0, weight_batch = 0, y_batch = 0;  ///< elements from one b to the next
  int usual_rows = 16384;                                   ///< the algorithm is chosen for this number

  bool operator==(const MatmulForm&) const = default;
};

/// Bytes of an element of y.
std::size_t y_size(const MatmulForm& form);
/// The form without its addresses, of which only the weight's alignment is kept: what decides on its algorithms.
MatmulForm without_addresses(MatmulForm form);

/// Unless `status` is CUBLAS_STATUS_SUCCESS, throws Error `device` naming the device, the operation and cublasLt's
/// message.
void check(cublasStatus_t status, int device, const char* operation);

// cublasLt's descriptions, by value: its own would be heap allocations. Each throws Error `device` naming `device`.
// Its matrices are column-major: our [rows, columns] is its columns x rows, and the product is y^T = W x^T.

cublasLtMatmulDescOpaque_t describe_product(const MatmulForm& form, int device);
cublasLtMatrixLayoutOpaque_t layout_of_weight(const MatmulForm& form, int device);
cublasLtMatrixLayoutOpaque_t layout_of_x(const MatmulForm& form, int rows, int device);
cublasLtMatrixLayoutOpaque_t layout_of_y(const MatmulForm& form, int rows, int device);
/// Algorithms without split sums, for operands aligned as the form states.
cublasLtMatmulPreferenceOpaque_t describe_preference(const MatmulForm& form, std::size_t workspace_bytes, int device);

/// Whether the algorithm computes each element as one sum, not from partial sums. Throws Error `device`.
bool sums_at_once(const cublasLtMatmulAlgo_t& algorithm, int device);
/// "algorithm 66 tile 18 stages 5 cluster 2", in cublasLt's numbers. Throws Error `device`.
std::string describe_algorithm(const cublasLtMatmulAlgo_t& algorithm, int device);

}  // namespace relucent::cuda
