// Matrix products by cublasLt. The bits of a row of y depend only on that row of x, whatever the number of rows. Host
// code.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/matmul_form.h"

namespace relucent::cuda {

/// Numbers of rows that share an algorithm.
struct RowBucket {
  int most;        ///< rows
  int chosen_for;  ///< rows
};
inline constexpr std::array<RowBucket, 3> kRowBuckets = {{{256, 128}, {2048, 1024}, {INT_MAX, 16384}}};

/// The algorithms of one form, by bucket. All of them give the same bits.
using MatmulAlgorithms = std::array<cublasLtMatmulAlgo_t, kRowBuckets.size()>;

/// cublasLt's state, one per device, and the algorithms chosen so far.
class MatmulLibrary {
 public:
  explicit MatmulLibrary(int device);  ///< the current one
  ~MatmulLibrary();
  MatmulLibrary(const MatmulLibrary&) = delete;
  MatmulLibrary& operator=(const MatmulLibrary&) = delete;

  int device() const noexcept { return device_; }
  cublasLtHandle_t handle() const noexcept { return handle_; }
  /// Device memory that each stream needs for its products; 0 if none.
  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  /// The algorithms, one line per form: "384 -> 1152, bias: up to 256 rows algorithm 66 tile 18 ...; ...".
  std::vector<std::string> algorithms() const;

 private:
  friend class Matmul;

  int device_;
  std::string uuid_;
  std::size_t workspace_bytes_ = 0;
  cublasLtHandle_t handle_ = nullptr;
  std::vector<std::pair<MatmulForm, MatmulAlgorithms>> chosen_;  // without addresses
};

/// One form's descriptions and algorithms. Thread-safe: run() changes nothing.
class Matmul {
 public:
  /// Chooses the algorithms: for `usual_rows` cublasLt's first proposal that computes each element as one sum, and for
  /// the other buckets the first that gives the same bits on this device. This takes memory and runs products, once per
  /// form and GPU in a process. Throws Error `device` if cublasLt cannot compute the form.
  Matmul(MatmulLibrary& library, const MatmulForm& form);
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  /// `workspace`: MatmulLibrary::workspace_bytes() of device memory that nothing else uses meanwhile.
  void run(const void* x, void* y, int rows, void* workspace, cudaStream_t stream) const;

 private:
  class Trial;

  /// `key`: the form without addresses.
  MatmulAlgorithms choose_algorithms(const MatmulForm& key) const;
  /// Those of cublasLt's proposals for this number of rows that any number of rows can use, best first.
  std::vector<cublasLtMatmulAlgo_t> proposals(int rows) const;
  bool fits_all_rows(const cublasLtMatmulAlgo_t& algorithm) const;
  cublasStatus_t start(const cublasLtMatmulAlgo_t& algorithm, const void* x, void* y, int rows, void* workspace,
                       cudaStream_t stream) const;

  const MatmulLibrary& library_;
  MatmulForm form_;
  // cublasLt's functions take them by pointers to non-const.
  mutable cublasLtMatmulDescOpaque_t description_;
  mutable cublasLtMatrixLayoutOpaque_t weight_;
  MatmulAlgorithms algorithms_;
};

/// Fills device memory with numbers between -1 and 1: products of zeros, or of equal numbers, are faster than products
/// of real data. Waits for the stream.
void fill_with_numbers(std::byte* memory, std::size_t bytes, Element element, Stream& stream);

}  // namespace relucent::cuda
