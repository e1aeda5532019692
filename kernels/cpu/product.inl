// Matrix products. Included by vector_kernels.inl.
//
// A tile of F output features x V vectors of tokens stays in registers while one pass over the inputs loads V vectors
// of the operand and F broadcast weights per step: with F = 8, V = 3 and 32 registers, 24 multiply-adds for 11 loads.
// A product sums some of the inputs for many features and for some panels before it takes the next inputs, so that what
// it reads again comes from a near cache; the sums wait in memory, which changes none of their bits.

struct DotF32 {
  using Sum = Floats;
  RELUCENT_INLINE static Arithmetic arithmetic(const Product& product) {
    return product.arithmetic;
  }  // or bf16_emulated
  RELUCENT_INLINE static Sum start(const Product&, std::size_t) { return Floats{}; }
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
    return multiply_add(all(__builtin_bit_cast(float, weight)), (Floats)units, sum);
  }
  RELUCENT_INLINE static Floats value(const Product&, Sum sum, std::size_t, std::size_t) { return sum; }
};

#if RELUCENT_BF16
struct DotBf16 : DotF32 {
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::bf16; }
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
    return (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)(Ints{} + weight), (__m512bh)units);
  }
};
#else
struct DotBf16 : DotF32 {
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::bf16; }
  // Computes what the instruction does, except for its internal rounding.
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
    const auto upper = static_cast<std::int32_t>(static_cast<std::uint32_t>(weight) & 0xFFFF0000U);
    const auto lower_half = static_cast<std::int32_t>(static_cast<std::uint32_t>(weight) << 16);
    sum = multiply_add(all(__builtin_bit_cast(float, upper)), (Floats)((Words)units & 0xFFFF0000U), sum);
    return multiply_add(all(__builtin_bit_cast(float, lower_half)), (Floats)((Words)units << 16), sum);
  }
};
#endif

// What multiplies pairs of 16-bit numbers and adds the two products, in each lane.
#if RELUCENT_LANES == 16 && defined(__AVX512BW__)
#define RELUCENT_PAIRS 1
RELUCENT_INLINE Ints multiply_pairs(Shorts x, Shorts y) { return (Ints)_mm512_madd_epi16((__m512i)x, (__m512i)y); }
#elif RELUCENT_LANES == 8 && defined(__AVX2__)
#define RELUCENT_PAIRS 1
RELUCENT_INLINE Ints multiply_pairs(Shorts x, Shorts y) { return (Ints)_mm256_madd_epi16((__m256i)x, (__m256i)y); }
#else
#define RELUCENT_PAIRS 0
#endif

struct DotInt8 {
  using Sum = Ints;
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::int8; }
  RELUCENT_INLINE static Sum start(const Product& product, std::size_t feature) {
    return Ints{} + product.corrections[feature];
  }
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
#if RELUCENT_VNNI
    return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)units, (__m512i)(Ints{} + weight));
#elif RELUCENT_PAIRS
    // Two bytes at a time as 16-bit numbers, whose products and their sum are exact.
    const Shorts weights = (Shorts)(Ints{} + weight);
    const Shorts even = (Shorts)(units & 0x00FF00FF), odd = (Shorts)(((Words)units >> 8) & 0x00FF00FFU);
    return sum + multiply_pairs(even, (weights << 8) >> 8) + multiply_pairs(odd, weights >> 8);
#else
    for (int byte = 0; byte < 4; ++byte) {
      const auto one = static_cast<std::int8_t>(static_cast<std::uint32_t>(weight) >> (8 * byte));
      sum += ((units >> (8 * byte)) & 255) * static_cast<std::int32_t>(one);
    }
    return sum;
#endif
  }
  RELUCENT_INLINE static Floats value(const Product& product, Sum sum, std::size_t feature, std::size_t token) {
    const Floats scales = load(product.token_scales + token) * product.weight_scales[feature];
    return __builtin_convertvector(sum, Floats) * scales;
  }
};

// Writes a vector of tokens' results for two features, because bf16 operands hold pairs.
template <typename Dot, Product::Output output>
RELUCENT_INLINE void finish_pair(const Product& product, std::size_t panel, std::size_t feature, std::size_t lane,
                                 Floats first, Floats second) {
  using Output = Product::Output;
  float* const out = static_cast<float*>(product.out) + panel * product.panel_stride + lane;
  if constexpr (output == Output::gelu_operand) {
    switch (Dot::arithmetic(product)) {
      case Arithmetic::bf16:
        store_units(out + feature / 2 * kPanel, bf16_pair(short_gelu(first), short_gelu(second)));
        break;
      case Arithmetic::bf16_emulated:
        store(out + feature * kPanel, (Floats)rounded_to_bf16(short_gelu(first)));
        store(out + (feature + 1) * kPanel, (Floats)rounded_to_bf16(short_gelu(second)));
        break;
      default:
        store(out + feature * kPanel, gelu(first));
        store(out + (feature + 1) * kPanel, gelu(second));
        break;
    }
    return;
  }
  float* const one = out + feature * product.feature_stride;
  float* const other = one + product.feature_stride;
  if constexpr (output == Output::add) {
    first = load(one) + first;
    second = load(other) + second;
  }
  if constexpr (output == Output::gelu) {
    const bool rounds = Dot::arithmetic(product) != Arithmetic::fp32;
    first = rounds ? short_gelu(first) : gelu(first);
    second = rounds ? short_gelu(second) : gelu(second);
  }
  store(one, first);
  store(other, second);
}

// Writes F x V vectors of results to the output.
template <typename Dot, std::size_t F, std::size_t V>
RELUCENT_INLINE void finish_tile(const Product& product, std::size_t panel, std::size_t feature, const float* results) {
  using Output = Product::Output;
  const auto finish = [&]<Output output>() {
#pragma GCC unroll 1
    for (std::size_t f = 0; f < F; f += 2) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) {
        const float* first = results + (f * V + v) * kLanes;
        finish_pair<Dot, output>(product, panel, feature + f, v * kLanes, load(first), load(first + V * kLanes));
      }
    }
  };
  switch (product.output) {
    case Output::store: finish.template operator()<Output::store>(); break;
    case Output::add: finish.template operator()<Output::add>(); break;
    case Output::gelu: finish.template operator()<Output::gelu>(); break;
    case Output::gelu_operand: finish.template operator()<Output::gelu_operand>(); break;
  }
}

// Computes F features, starting at `feature`, of V vectors of tokens, over the steps [first, end); keeps the sums in
// `kept` unless these are the last steps. A block of weights holds 16 features; F is 4, 8 or 16.
template <typename Dot, std::size_t F, std::size_t V>
RELUCENT_INLINE void product_tile(const Product& product, std::size_t panel, std::size_t feature, std::size_t first,
                                  std::size_t end, float* kept) {
  using Sum = typename Dot::Sum;
  const std::size_t block_units = product.steps * kFeatureBlock;
  const auto* weights = static_cast<const std::int32_t*>(product.weights) + feature / kFeatureBlock * block_units +
                        feature % kFeatureBlock;
  const auto* units = static_cast<const std::int32_t*>(product.operand) + panel * product.steps * kPanel;
  Sum sums[F][V];
  const auto each = [&](const auto& work) {
#pragma GCC unroll 16
    for (std::size_t f = 0; f < F; ++f) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) work(f, v);
    }
  };
  if (first == 0)
    each([&](std::size_t f, std::size_t v) { sums[f][v] = Dot::start(product, feature + f); });
  else
    each([&](std::size_t f, std::size_t v) { sums[f][v] = (Sum)load(kept + (f * V + v) * kLanes); });
  for (std::size_t step = first; step < end; ++step) {
    Ints x[V];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < V; ++v) x[v] = load_units(units + step * kPanel + v * kLanes);
#pragma GCC unroll 16
    for (std::size_t f = 0; f < F; ++f) {
      const std::int32_t weight = weights[f / kFeatureBlock * block_units + step * kFeatureBlock + f % kFeatureBlock];
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) sums[f][v] = Dot::add(sums[f][v], weight, x[v]);
    }
  }
  if (end < product.steps) {
    each([&](std::size_t f, std::size_t v) { store(kept + (f * V + v) * kLanes, (Floats)sums[f][v]); });
    return;
  }
  // Through the first-level cache, so that the code below is a loop instead of F x V copies of its body.
  float results[F * V * kLanes];
  each([&](std::size_t f, std::size_t v) {
    const std::size_t token = panel * kPanel + v * kLanes;
    store(results + (f * V + v) * kLanes,
          Dot::value(product, sums[f][v], feature + f, token) + product.bias[feature + f]);
  });
  finish_tile<Dot, F, V>(product, panel, feature, results);
}

// Steps whose products are summed before others, so that eight panels pass the same weights in the second-level cache.
// AVX-512 on Intel's processors multiplies faster than the second-level cache delivers: 192 steps of a panel, 36 KiB,
// also stay in or near the first-level cache. On AMD's it does not, and neither does AVX2: more steps save loads and
// stores of sums.
inline std::size_t steps_together() {
#if RELUCENT_REGISTERS == 32 && defined(__x86_64__)
  static const bool intel = __builtin_cpu_is("intel") != 0;
  return intel ? 192 : 384;
#else
  return 512;
#endif
}

constexpr std::size_t kPanelsTogether = 8;
constexpr std::size_t kFeaturesTogether = 128;
constexpr std::size_t kSumsTogether = kFeaturesTogether * kPanel;  // of a panel, which wait for the next steps

// Some features, from `block` on, of one panel.
template <typename Dot, std::size_t F, std::size_t V>
void product_part(const Product& product, std::size_t panel, std::size_t block, std::size_t features, std::size_t first,
                  std::size_t end, float* kept) {
  for (std::size_t f = 0; f < features; f += F) {
    product_tile<Dot, F, V>(product, panel, block + f, first, end, kept + f * V * kLanes);
  }
}

template <typename Dot>
void product_panels(const Product& product) {
  constexpr std::size_t wide = RELUCENT_REGISTERS == 32 ? 8 : 4;
  const std::size_t whole = product.vectors / kPanelVectors, rest = product.vectors % kPanelVectors;
  const std::size_t all = whole + (rest > 0 ? 1 : 0);
  const std::size_t parts = (product.steps + steps_together() - 1) / steps_together();
  const std::size_t steps = (product.steps + parts - 1) / parts;
  alignas(64) float kept[kPanelsTogether * kSumsTogether];
  const auto part = [&](std::size_t panel, std::size_t block, std::size_t features, std::size_t first, float* sums) {
    const std::size_t end = product.steps - first < steps ? product.steps : first + steps;
    if (panel < whole) return product_part<Dot, wide, kPanelVectors>(product, panel, block, features, first, end, sums);
    // A narrower tile takes more features, to keep as many sums in flight.
    if (rest == 1) return product_part<Dot, 2 * wide, 1>(product, panel, block, features, first, end, sums);
    if constexpr (kPanelVectors > 2) product_part<Dot, wide, 2>(product, panel, block, features, first, end, sums);
  };
  for (std::size_t run = 0; run < all; run += kPanelsTogether) {
    const std::size_t panels = all - run < kPanelsTogether ? all - run : kPanelsTogether;
    for (std::size_t block = 0; block < product.features; block += kFeaturesTogether) {
      const std::size_t left = product.features - block;
      const std::size_t features = left < kFeaturesTogether ? left : kFeaturesTogether;
      for (std::size_t first = 0; first < product.steps; first += steps) {
        for (std::size_t p = 0; p < panels; ++p) part(run + p, block, features, first, kept + p * kSumsTogether);
      }
    }
  }
}
