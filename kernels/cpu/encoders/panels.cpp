#include "kernels/cpu/encoders/panels.h"

#include <algorithm>

namespace relucent::cpu {

void Panels::copy_tokens(const float* activation, std::size_t features, std::size_t first, std::size_t tokens,
                         float* rows, std::size_t stride) const {
  const std::size_t panel = kernels_.panel;
  for (std::size_t done = 0; done < tokens;) {
    const std::size_t token = first + done, count = std::min(tokens - done, panel - token % panel);
    const float* from = place(activation, features, token);
    for (std::size_t f = 0; f < features; ++f) std::copy_n(from + f * panel, count, rows + f * stride + done);
    done += count;
  }
}

void Panels::put_token(const float* values, float* activation, std::size_t features, std::size_t token) const {
  float* const to = place(activation, features, token);
  for (std::size_t f = 0; f < features; ++f) to[f * kernels_.panel] = values[f];
}

OperandOut Panels::operand(Arithmetic arithmetic, std::size_t features, std::size_t vectors, Buffer<float>& units,
                           Buffer<float>& token_scales) const {
  const std::size_t tokens = panels(vectors) * kernels_.panel;
  return {arithmetic, units.grow(padded(features) / inputs_together(arithmetic) * tokens), token_scales.grow(tokens)};
}

OperandOut Panels::from_panel(const OperandOut& out, std::size_t features, std::size_t panel) const {
  if (out.units == nullptr) return out;
  const std::size_t steps = padded(features) / inputs_together(out.arithmetic);
  return {out.arithmetic, static_cast<float*>(out.units) + panel * steps * kernels_.panel,
          out.token_scales + panel * kernels_.panel};
}

void Panels::multiply(const PackedLinear& linear, const OperandOut& packed, std::size_t vectors, Product::Output output,
                      float* to, std::size_t to_features) const {
  Product product = linear.product();
  product.operand = packed.units;
  product.token_scales = packed.token_scales;
  product.vectors = vectors;
  product.output = output;
  product.out = to;
  product.panel_stride = padded(to_features) * kernels_.panel;
  product.feature_stride = kernels_.panel;
  kernels_.product(product);
}

}  // namespace relucent::cpu
