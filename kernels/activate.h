// Activations of single numbers: what the reference computes, and heads on all backends.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "relucent/kernels/activation.h"

namespace relucent {

inline float activate(float x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return std::max(x, 0.0F);
    case Activation::silu: return static_cast<float>(x / (1 + std::exp(-static_cast<double>(x))));
    case Activation::gelu_erf: return static_cast<float>(0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)));
    case Activation::gelu_tanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3));
      return static_cast<float>(0.5 * x * (1 + std::tanh(inner)));
    }
    case Activation::gelu_10: return std::min(activate(x, Activation::gelu_erf), 10.0F);
    case Activation::quick_gelu: return static_cast<float>(x / (1 + std::exp(-1.702 * x)));
    case Activation::mish: return static_cast<float>(x * std::tanh(std::log1p(std::exp(static_cast<double>(x)))));
    case Activation::tanh: return std::tanh(x);
  }
  return x;
}

}  // namespace relucent
