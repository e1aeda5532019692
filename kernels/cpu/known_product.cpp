#include "kernels/cpu/known_product.h"

#include <vector>

#include "kernels/cpu/packed_linear.h"

namespace relucent::cpu {
namespace {

// Inputs: 2.5 tiles of bf16 or 1.25 tiles of int8. Outputs: a pair of feature blocks and a single one. Tokens: at least
// one whole panel and part of another.
constexpr std::size_t kInputs = 80, kOutputs = 48, kTokens = 53;

/// Whole numbers from -127 to 127, so that they are exact in bf16 and, with a scale of 1, as integers, and `most` as
/// the first of each row; every sum of products is below 2^24, so that it is exact in fp32.
int number(std::size_t row, std::size_t input, int most) {
  if (input == 0) return most;  // so that the row's scale is 1
  return static_cast<int>((row * 37 + input * 101) % 255) - 127;
}

bool multiplies_exactly(const VectorKernels& kernels, Arithmetic arithmetic) {
  const int most = arithmetic == Arithmetic::int16 ? kInt16Most : 127;
  std::vector<float> weight, bias;
  for (std::size_t out = 0; out < kOutputs; ++out) {
    for (std::size_t in = 0; in < kInputs; ++in) weight.push_back(static_cast<float>(number(out, in, most)));
    bias.push_back(static_cast<float>(out));
  }
  const PackedLinear linear(arithmetic, kernels.layout, weight, bias, kInputs);
  const std::size_t panel = kernels.panel, vectors = (kTokens + kernels.lanes - 1) / kernels.lanes;
  const std::size_t panels = (vectors * kernels.lanes + panel - 1) / panel, rows = padded(kInputs);
  std::vector<float> activation(panels * rows * panel), operand(panels * linear.steps() * panel);
  std::vector<float> scales(panels * panel), out(panels * linear.features() * panel);
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t in = 0; in < kInputs; ++in) {
      activation[(t / panel * rows + in) * panel + t % panel] = static_cast<float>(number(1000 + t, in, most));
    }
  }
  kernels.pack(activation.data(), kInputs, vectors, {arithmetic, operand.data(), scales.data()});
  Product product = linear.product();
  product.operand = operand.data();
  product.token_scales = scales.data();
  product.vectors = vectors;
  product.out = out.data();
  product.panel_stride = linear.features() * panel;
  product.feature_stride = panel;
  kernels.product(product);
  for (std::size_t feature = 0; feature < kOutputs; ++feature) {
    for (std::size_t t = 0; t < kTokens; ++t) {
      int wanted = static_cast<int>(feature);
      for (std::size_t in = 0; in < kInputs; ++in) wanted += number(feature, in, most) * number(1000 + t, in, most);
      const float found = out[(t / panel * linear.features() + feature) * panel + t % panel];
      if (!(found == static_cast<float>(wanted))) return false;  // a NaN is also wrong
    }
  }
  return true;
}

}  // namespace

bool multiplies_exactly(const VectorKernels& kernels) {
  return multiplies_exactly(kernels, Arithmetic::fp32) && multiplies_exactly(kernels, Arithmetic::int16) &&
         (!kernels.native_bf16 || multiplies_exactly(kernels, Arithmetic::bf16)) &&
         (!kernels.native_int8 || multiplies_exactly(kernels, Arithmetic::int8));
}

VectorLevels levels_that_work(std::span<const VectorKernels* const> candidates,
                              bool (*works)(const VectorKernels& kernels)) {
  VectorLevels found{};
  for (const VectorKernels* const level : candidates) {
    if (found.count == 0 || works(*level))
      found.levels[found.count++] = level;
    else
      found.refused[found.refused_count++] = level;
  }
  return found;
}

}  // namespace relucent::cpu
