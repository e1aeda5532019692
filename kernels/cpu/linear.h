#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/vector_kernels.h"

namespace relucent::cpu {

/// How the operands of a matrix product are held. Sums are in fp32 in all of them.
enum class Arithmetic {
  fp32,
  bf16,           ///< 16-bit operands, oneDNN's AVX-512 BF16 or AMX kernels
  bf16_emulated,  ///< operands rounded to bf16 but held in fp32: the same function on any processor, no faster than fp32
};

/// Products of bf16 run on multiples of 16 rows, an AMX tile's height: few shapes, so few kernels to generate. The rows
/// beyond the last are computed from whatever the operand holds there and never read.
constexpr std::size_t tile_rows(std::size_t rows) { return (rows + 15) / 16 * 16; }

/// Whether oneDNN has native bf16 products on this processor.
bool has_native_bf16();
/// "avx512_bf16" or "amx" where has_native_bf16(), else null.
const char* native_bf16_name();

/// The left operand of matrix products: rows of activations in the form that the arithmetic wants. Reused from call to
/// call, grows as needed.
class Operand {
 public:
  /// Takes [rows, columns] fp32 values; fp32 operands only keep the pointer, so `values` must outlive their use.
  void assign(Arithmetic arithmetic, const VectorKernels& kernels, const float* values, std::size_t rows,
              std::size_t columns);
  const void* data() const noexcept { return data_; }
  /// Room for [tile_rows(rows), columns] values of `bytes` each, to be written by a product.
  void* reserve(std::size_t rows, std::size_t columns, std::size_t bytes);

 private:
  const void* data_ = nullptr;
  std::vector<std::byte> own_;
};

/// y = x W^T with W [out, in] held in the arithmetic's own form. Immutable, shared by threads; each product runs on the
/// calling thread alone (which must be one of a ThreadPool's). A row of y depends on the rows of x only through
/// their number.
class Linear {
 public:
  virtual ~Linear() = default;
  /// x: [rows, in] as Operand holds it; y: [rows, out] fp32, without the bias, with room for tile_rows(rows) rows.
  virtual void multiply(const Operand& x, std::size_t rows, float* y) const = 0;
  /// y <- GELU(x W^T + b) as the next product's operand; `scratch` has room like y above.
  virtual void multiply_gelu(const Operand& x, std::size_t rows, float* scratch, Operand& y) const = 0;

  std::size_t inputs() const noexcept { return inputs_; }
  std::size_t outputs() const noexcept { return outputs_; }
  const float* bias() const noexcept { return bias_.data(); }

 protected:
  /// @param weights the number of elements of W
  Linear(std::size_t weights, std::vector<float> bias)
      : bias_(std::move(bias)), outputs_(bias_.size()), inputs_(weights / outputs_) {}

  std::vector<float> bias_;
  std::size_t outputs_, inputs_;
};

/// @param weight [out, in], @param bias [out]. Throws Error `unsupported` where oneDNN refuses native bf16.
std::unique_ptr<const Linear> make_linear(Arithmetic arithmetic, const VectorKernels& kernels, std::vector<float> weight,
                                          std::vector<float> bias);

}  // namespace relucent::cpu
