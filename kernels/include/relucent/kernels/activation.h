#pragma once

namespace relucent {

enum class Activation {
  none,
  relu,
  silu,        ///< x / (1 + e^-x)
  gelu_erf,    ///< 0.5 x (1 + erf(x / sqrt 2))
  gelu_tanh,   ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  gelu_10,     ///< gelu_erf, but at most 10
  quick_gelu,  ///< x / (1 + e^-1.702x)
  mish,        ///< x tanh(ln(1 + e^x))
  tanh,
};

}  // namespace relucent
