// Multiply-adds on operands in the first-level cache, to measure the rate that products can reach. The operands are
// random, because processors lower their clock when the bits that they multiply change: on zeros, AMX is 20 to 25 %
// faster. Included by vector_kernels.inl.

constexpr std::size_t kSpinSteps = 64;  // of four-byte units per round

// Multiplies kSpinSteps by `features` units of weights by as many of an operand of `panel` tokens, as a product does.
struct SpinOperands {
  static constexpr std::size_t kFeatures = 32;
  alignas(64) std::int32_t weights[kSpinSteps * kFeatures];
  alignas(64) std::int32_t units[kSpinSteps * kPanel];

  explicit SpinOperands(Arithmetic arithmetic) {
    std::uint32_t state = 1;
    const auto fill = [&](std::int32_t* to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to[i] = unit(arithmetic, state);
    };
    fill(weights, sizeof weights / 4);
    fill(units, sizeof units / 4);
  }

  static std::uint32_t random(std::uint32_t& state) { return state = state * 1664525U + 1013904223U; }
  // One float or two bf16 of either sign and of size 1 to 2, two numbers up to kInt16Most, or four bytes.
  static std::int32_t unit(Arithmetic arithmetic, std::uint32_t& state) {
    const std::uint32_t high = random(state), low = random(state) >> 16;
    switch (arithmetic) {
      case Arithmetic::int16: return static_cast<std::int32_t>((high & 0x07FF0000U) | (low & 0x07FFU));
      case Arithmetic::int8: return static_cast<std::int32_t>((high & 0xFFFF0000U) | low);
      case Arithmetic::bf16: return static_cast<std::int32_t>((high & 0x807F0000U) | (low & 0x807FU) | 0x3F803F80U);
      default: return static_cast<std::int32_t>((high & 0x807FFFFFU) | 0x3F800000U);
    }
  }
};

template <typename Dot>
double spin_vectors(Arithmetic arithmetic, std::size_t rounds) {
  constexpr std::size_t features = RELUCENT_REGISTERS == 32 ? 8 : 4;  // as product_tile()
  const SpinOperands operands(arithmetic);
  for (std::size_t round = 0; round < rounds; ++round) {
    typename Dot::Sum sums[features][kPanelVectors] = {};
    for (std::size_t step = 0; step < kSpinSteps; step += Dot::kSteps) {
      add_step<Dot, features, kPanelVectors>(operands.weights + step * features, operands.units + step * kPanel, sums);
    }
    float results[features * kPanel];
#pragma GCC unroll 8
    for (std::size_t f = 0; f < features; ++f) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < kPanelVectors; ++v) store(results + f * kPanel + v * kLanes, (Floats)sums[f][v]);
    }
    asm volatile("" : : "m"(results));  // makes the compiler compute them
  }
  return 2.0 * static_cast<double>(rounds * kSpinSteps * features * kPanel * inputs_together(arithmetic));
}

#if RELUCENT_AMX
template <typename Kind>
double spin_tiles(Arithmetic arithmetic, std::size_t rounds) {
  constexpr std::size_t features = SpinOperands::kFeatures, block = kSpinSteps * kTile, row = kTile * 4;
  static_assert(features == 2 * kTile && kSpinSteps % kTile == 0);
  const SpinOperands operands(arithmetic);
  Tiles tiles;
  for (std::size_t round = 0; round < rounds; ++round) {
    tiles.zero<0>();
    tiles.zero<1>();
    tiles.zero<2>();
    tiles.zero<3>();
    for (std::size_t step = 0; step < kSpinSteps; step += kTile) {
      const std::int32_t* const x = operands.units + step * kPanel;
      tiles.load<4>(operands.weights + step * kTile, row);
      tiles.load<6>(x, kPanel * 4);
      tiles.load<7>(x + kLanes, kPanel * 4);
      tiles.load<5>(operands.weights + block + step * kTile, row);
      Kind::template add<0, 4, 6>(tiles);
      Kind::template add<1, 4, 7>(tiles);
      Kind::template add<2, 5, 6>(tiles);
      Kind::template add<3, 5, 7>(tiles);
    }
  }
  return 2.0 * static_cast<double>(rounds * kSpinSteps * features * kPanel * inputs_together(arithmetic));
}
#endif

double spin(Arithmetic arithmetic, std::size_t rounds) {
  switch (arithmetic) {
    case Arithmetic::fp32:
    case Arithmetic::bf16_emulated: return spin_vectors<DotF32>(Arithmetic::fp32, rounds);
    case Arithmetic::int16: return spin_vectors<DotInt16>(arithmetic, rounds);
#if RELUCENT_AMX
    case Arithmetic::bf16: return spin_tiles<Bf16Tiles>(arithmetic, rounds);
    case Arithmetic::int8: return spin_tiles<Int8Tiles>(arithmetic, rounds);
#else
    case Arithmetic::bf16: return spin_vectors<DotBf16>(arithmetic, rounds);
    case Arithmetic::int8: return spin_vectors<DotInt8>(arithmetic, rounds);
#endif
  }
  return 0;
}
