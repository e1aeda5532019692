#include "cpu/linear.h"

#include <oneapi/dnnl/dnnl.h>

#include <string>

#include "cpu/linear_primitive.h"
#include "relucent/error.h"

namespace relucent::cpu {
namespace {

/// fp32 products, with operands rounded to bf16 or not.
class LinearF32 final : public Linear {
 public:
  LinearF32(Arithmetic arithmetic, const VectorKernels& kernels, std::vector<float> weight, std::vector<float> bias)
      : Linear(weight.size(), std::move(bias)),
        arithmetic_(arithmetic),
        kernels_(kernels),
        weight_(std::move(weight)) {
    if (arithmetic_ == Arithmetic::bf16_emulated) {
      kernels_.round_within_f32(weight_.data(), weight_.data(), weight_.size());
    }
  }

  void multiply(const Operand& x, std::size_t rows, float* y) const override {
    const auto m = static_cast<dnnl_dim_t>(rows), n = static_cast<dnnl_dim_t>(outputs_);
    const auto k = static_cast<dnnl_dim_t>(inputs_);
    const dnnl_status_t status =
        dnnl_sgemm('N', 'T', m, n, k, 1.0F, static_cast<const float*>(x.data()), k, weight_.data(), k, 0.0F, y, n);
    if (status != dnnl_success) {
      throw Error(ErrorKind::internal, "oneDNN", "sgemm failed with status " + std::to_string(status));
    }
  }

  void multiply_gelu(const Operand& x, std::size_t rows, float* scratch, Operand& y) const override {
    multiply(x, rows, scratch);
    kernels_.add_gelu(scratch, bias_.data(), rows, outputs_);
    y.assign(arithmetic_, kernels_, scratch, rows, outputs_);
  }

 private:
  Arithmetic arithmetic_;
  const VectorKernels& kernels_;
  std::vector<float> weight_;  // [out, in]
};

}  // namespace

void Operand::assign(Arithmetic arithmetic, const VectorKernels& kernels, const float* values, std::size_t rows,
                     std::size_t columns) {
  const std::size_t count = rows * columns;
  switch (arithmetic) {
    case Arithmetic::fp32:
      data_ = values;
      break;
    case Arithmetic::bf16:
      kernels.round_to_bf16(values, static_cast<std::uint16_t*>(reserve(rows, columns, sizeof(std::uint16_t))), count);
      break;
    case Arithmetic::bf16_emulated:
      kernels.round_within_f32(values, static_cast<float*>(reserve(rows, columns, sizeof(float))), count);
      break;
  }
}

void* Operand::reserve(std::size_t rows, std::size_t columns, std::size_t bytes) {
  const std::size_t size = tile_rows(rows) * columns * bytes;
  if (own_.size() < size) own_.resize(size);
  data_ = own_.data();
  return own_.data();
}

std::unique_ptr<const Linear> make_linear(Arithmetic arithmetic, const VectorKernels& kernels, std::vector<float> weight,
                                          std::vector<float> bias) {
  if (arithmetic == Arithmetic::bf16) {
    return make_linear_primitive(OperandType::bf16, kernels, weight, std::move(bias));
  }
  return std::make_unique<LinearF32>(arithmetic, kernels, std::move(weight), std::move(bias));
}

}  // namespace relucent::cpu
