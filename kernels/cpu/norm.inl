// LayerNorm and operands. Included by vector_kernels.inl.

// Reduces the features of each token to one value, in four partial results so that additions need not wait for each
// other.
template <typename Take, typename Join>
RELUCENT_INLINE Floats over_features(const float* x, std::size_t features, Floats start, const Take& take,
                                     const Join& join) {
  Floats part[4] = {start, start, start, start};
  std::size_t f = 0;
  for (; f + 4 <= features; f += 4) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) part[i] = take(part[i], load(x + (f + i) * kPanel));
  }
  for (; f < features; ++f) part[0] = take(part[0], load(x + f * kPanel));
  return join(join(part[0], part[1]), join(part[2], part[3]));
}

// Packs one vector of tokens of an activation's panel into operand units. x: feature f at x[f * kPanel]; units: step s
// at units[s * kPanel].
RELUCENT_INLINE void pack_vector(const float* x, std::size_t features, Arithmetic arithmetic, float* units,
                                 float* scales) {
  const std::size_t rows = padded(features);
  // Features beyond the last one are padding.
  const auto value = [&](std::size_t f) { return f < features ? load(x + f * kPanel) : Floats{}; };
  switch (arithmetic) {
    case Arithmetic::fp32:
      for (std::size_t f = 0; f < rows; ++f) store(units + f * kPanel, value(f));
      break;
    case Arithmetic::bf16_emulated:
      for (std::size_t f = 0; f < rows; ++f) store(units + f * kPanel, (Floats)rounded_to_bf16(value(f)));
      break;
    case Arithmetic::bf16:
      for (std::size_t f = 0; f < rows; f += 2) store_units(units + f / 2 * kPanel, bf16_pair(value(f), value(f + 1)));
      break;
    case Arithmetic::int8: {
      const Floats most = over_features(
          x, features, all(1e-30F), [](Floats so_far, Floats one) { return higher(so_far, magnitude(one)); }, higher);
      store(scales, most / 127.0F);
      const Floats inverse = 127.0F / most;
      constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: the low byte of the sum's bits is the nearest integer's
      const auto byte = [&](std::size_t f) { return (Ints)(value(f) * inverse + (to_integer + 128.0F)) & 255; };
      for (std::size_t f = 0; f < rows; f += 4) {
        store_units(units + f / 4 * kPanel, byte(f) | byte(f + 1) << 8 | byte(f + 2) << 16 | byte(f + 3) << 24);
      }
      break;
    }
  }
}

RELUCENT_INLINE void pack_at(const float* x, std::size_t features, std::size_t vector, const OperandOut& out) {
  const std::size_t panel = vector / kPanelVectors, in_panel = vector % kPanelVectors * kLanes;
  const std::size_t steps = padded(features) / inputs_together(out.arithmetic);
  pack_vector(x, features, out.arithmetic, static_cast<float*>(out.units) + panel * steps * kPanel + in_panel,
              out.token_scales + vector * kLanes);
}

void pack(const float* activation, std::size_t features, std::size_t vectors, const OperandOut& out) {
  for (std::size_t vector = 0; vector < vectors; ++vector) {
    const float* x = activation + vector / kPanelVectors * padded(features) * kPanel + vector % kPanelVectors * kLanes;
    pack_at(x, features, vector, out);
  }
}

void norm(const Norm& norm, const OperandOut& out) {
  const std::size_t rows = padded(norm.features);
  const float share = 1.0F / static_cast<float>(norm.features);
  for (std::size_t vector = 0; vector < norm.vectors; ++vector) {
    float* x = norm.x + vector / kPanelVectors * rows * kPanel + vector % kPanelVectors * kLanes;
    const auto plus = [](Floats a, Floats b) { return a + b; };
    const Floats mean = over_features(x, norm.features, Floats{}, plus, plus) * share;
    const auto add_square = [mean](Floats so_far, Floats one) { return multiply_add(one - mean, one - mean, so_far); };
    const Floats squares = over_features(x, norm.features, Floats{}, add_square, plus);
    Floats scale = multiply_add(squares, all(share), all(norm.epsilon));
    for (std::size_t i = 0; i < kLanes; ++i) scale[i] = 1.0F / __builtin_sqrtf(scale[i]);
    for (std::size_t f = 0; f < norm.features; ++f) {
      store(x + f * kPanel, multiply_add((load(x + f * kPanel) - mean) * scale, all(norm.gamma[f]), all(norm.beta[f])));
    }
    if (out.units != nullptr) pack_at(x, norm.features, vector, out);
  }
}
