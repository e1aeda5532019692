// Matrix products by cublasLt, always with the same algorithm for the same form, so that the bits of a row of y do not
// depend on the number of rows. Host code.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/element.h"

namespace relucent::cuda {

/// cublasLt's state, one per device.
class MatmulLibrary {
 public:
  explicit MatmulLibrary(int device);  ///< the current one
  ~MatmulLibrary();
  MatmulLibrary(const MatmulLibrary&) = delete;
  MatmulLibrary& operator=(const MatmulLibrary&) = delete;

  int device() const noexcept { return device_; }
  cublasLtHandle_t handle() const noexcept { return handle_; }

 private:
  int device_;
  cublasLtHandle_t handle_ = nullptr;
};

/// y[b] = x[b] W[b]^T + bias for b < batch; x[b]: [rows, in], W[b]: [out, in], y[b]: [rows, out], all row-major.
struct MatmulForm {
  Element element = Element::f16;  ///< of x, W, the bias and y; sums are fp32
  bool tf32 = false;               ///< Element::f32 with products of 10-bit mantissas
  int out = 0, in = 0;
  int x_stride = 0, y_stride = 0;  ///< elements from row to row
  const void* weight = nullptr;
  bool weight_is_transposed = false;  ///< W[b] is stored as [in, out]
  const void* bias = nullptr;         ///< [out]; none if null
  bool gelu = false;                  ///< y = GELU(...), cublasLt's: the tanh approximation
  bool float_result = false;          ///< y is fp32 whatever `element` is; without bias
  int batch = 1;
  std::int64_t x_batch = 0, weight_batch = 0, y_batch = 0;  ///< elements from one b to the next
  int usual_rows = 16384;                                   ///< the algorithm is chosen for this number
};

/// One form's descriptions and algorithm. Thread-safe: run() changes nothing.
class Matmul {
 public:
  /// Throws Error `device` if cublasLt cannot compute the form.
  Matmul(const MatmulLibrary& library, const MatmulForm& form);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  void run(const void* x, void* y, int rows, cudaStream_t stream) const;

 private:
  void describe();
  void choose_algorithm();
  /// cublasLt's proposals for this number of rows, best first.
  std::vector<cublasLtMatmulAlgo_t> proposals(int rows) const;
  /// Whether it computes each element as one sum, not from partial sums.
  bool sums_at_once(const cublasLtMatmulAlgo_t& algorithm) const;
  bool fits_all_rows(const cublasLtMatmulAlgo_t& algorithm) const;
  void destroy() noexcept;

  const MatmulLibrary& library_;
  MatmulForm form_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t weight_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace relucent::cuda
