// Activations. Included by vector_kernels.inl.

template <typename Function>
RELUCENT_INLINE void for_each_vector(float* x, const float* gate, std::size_t count, const Function& function) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Floats value = function(load(x + i));
    store(x + i, gate == nullptr ? value : value * load(gate + i));
  }
}

void activate(Activation activation, bool rounded, float* x, const float* gate, std::size_t count) {
  const auto each = [&](const auto& function) { for_each_vector(x, gate, count, function); };
  switch (activation) {
    case Activation::none: each([](Floats value) { return value; }); break;
    case Activation::relu: each([](Floats value) { return higher(Floats{}, value); }); break;
    case Activation::silu: each([](Floats value) { return value / (1.0F + exponential(-value)); }); break;
    case Activation::gelu_erf:
      if (rounded)
        each([](Floats value) { return short_gelu(value); });
      else
        each([](Floats value) { return gelu(value); });
      break;
    case Activation::gelu_tanh:
      // 0.5 (1 + tanh(u)) = 1 / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
      each([](Floats value) {
        const Floats factor = multiply_add(value * value, all(-0.0713548163F), all(-1.59576912F));
        return value / (1.0F + exponential(value * factor));
      });
      break;
    case Activation::gelu_10:
      if (rounded)
        each([](Floats value) { return lower(short_gelu(value), all(10.0F)); });
      else
        each([](Floats value) { return lower(gelu(value), all(10.0F)); });
      break;
    case Activation::quick_gelu:
      each([](Floats value) { return value / (1.0F + exponential(-1.702F * value)); });
      break;
    case Activation::mish:
      // tanh(ln(1 + p)) = n / (n + 2), n = p (p + 2), p = e^x; from x = 20 on it is 1
      each([](Floats value) {
        const Floats power = exponential(lower(value, all(20.0F))), n = power * (power + 2.0F);
        return value * (n / (n + 2.0F));
      });
      break;
    case Activation::tanh: each([](Floats value) { return 1.0F - 2.0F / (1.0F + exponential(2.0F * value)); }); break;
  }
}
