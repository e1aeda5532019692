// Matrix products. Included by vector_kernels.inl.
//
// A tile of F output features x V vectors of tokens stays in registers while one pass over the inputs loads V vectors
// of the operand and F broadcast weights per step: with F = 8, V = 3 and 32 registers, 24 multiply-adds for 11 loads.
// A product sums some of the inputs for many features and for some panels before it takes the next inputs, so that what
// it reads again comes from a near cache; the sums wait in memory, which changes none of their bits.

// Writes a vector of tokens' results for two features, because bf16 operands hold pairs.
template <typename Dot, Product::Output output>
RELUCENT_INLINE void finish_pair(const Product& product, std::size_t panel, std::size_t feature, std::size_t lane,
                                 Floats first, Floats second) {
  using Output = Product::Output;
  float* const first_lane = static_cast<float*>(product.out) + panel * product.panel_stride;
  float* const out = first_lane + lane;
  if constexpr (output == Output::gelu_operand) {
    switch (Dot::arithmetic(product)) {
      case Arithmetic::bf16:
        store_step<kShortStride>(first_lane + lane * kShortStride, feature / 2,
                                 bf16_pair(short_gelu(first), short_gelu(second)));
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

// Adds the products of a tile's F x V vectors for one step, or for two where a dot product takes these.
template <typename Dot, std::size_t F, std::size_t V>
RELUCENT_INLINE void add_step(const std::int32_t* weights, const std::int32_t* units, typename Dot::Sum (&sums)[F][V]) {
  if constexpr (Dot::kTwoByTwo) {
    // Sum 2 V i + p is that of the i-th two features and the p-th two tokens.
    Ints features[F / 2];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < F / 2; ++i) features[i] = load_units(weights + i * kLanes);
#pragma GCC unroll 6
    for (std::size_t p = 0; p < 2 * V; ++p) {
      const Ints tokens = load_units(units + p * kLanes);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < F / 2; ++i) {
        const std::size_t at = 2 * V * i + p;
        sums[at / V][at % V] = Dot::add(sums[at / V][at % V], features[i], tokens);
      }
    }
  } else {
    Ints x[V];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < V; ++v) x[v] = Dot::operand(load_units(units + v * kLanes));
#pragma GCC unroll 16
    for (std::size_t f = 0; f < F; ++f) {
      const Weight weight = weight_at(weights, f);
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) {
        if constexpr (AddsInParts<Dot> && RELUCENT_REGISTERS == 16 && !RELUCENT_VNNI && V == 3) {
          // 16 registers hold 12 sums, two vectors, a weight and a product that is to be added; the third vector is
          // read again for each feature, which the compiler must not see.
          if (v == 2) asm("" : "+r"(units));
          if (v == 2) x[v] = load_units(units + v * kLanes);
        }
        sums[f][v] = Dot::add(sums[f][v], weight, x[v]);
      }
    }
  }
}

// A tile's sum of feature f and the v-th vector of tokens.
template <typename Dot, std::size_t F, std::size_t V>
RELUCENT_INLINE typename Dot::Sum sum_at(const typename Dot::Sum (&sums)[F][V], std::size_t f, std::size_t v) {
  if constexpr (Dot::kTwoByTwo) {
    const std::size_t at = f / 2 * 2 * V + 2 * v;
    return Dot::of_feature(sums[at / V][at % V], sums[(at + 1) / V][(at + 1) % V], f % 2);
  } else {
    return sums[f][v];
  }
}

// Computes F features, starting at `feature`, of V vectors of tokens, over the steps [first, end); keeps the sums in
// `kept` unless these are the last steps. A block of weights holds 16 features; F is 4, 8 or 16.
template <typename Dot, std::size_t F, std::size_t V>
RELUCENT_INLINE void product_tile(const Product& product, std::size_t panel, std::size_t feature, std::size_t first,
                                  std::size_t end, float* kept) {
  using Sum = typename Dot::Sum;
  constexpr bool in_parts = AddsInParts<Dot>;
  const std::size_t block_units = product.steps * kFeatureBlock;
  const auto* weights = static_cast<const std::int32_t*>(product.weights) + feature / kFeatureBlock * block_units +
                        feature % kFeatureBlock * Dot::kSteps;
  const auto* units = static_cast<const std::int32_t*>(product.operand) + panel * product.steps * kPanel;
  Sum sums[F][V];
  const auto each = [&](const auto& work) {
#pragma GCC unroll 16
    for (std::size_t f = 0; f < F; ++f) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) work(f, v);
    }
  };
  if (first == 0 || in_parts)
    each([&](std::size_t f, std::size_t v) { sums[f][v] = Dot::start(product, feature + f); });
  else
    each([&](std::size_t f, std::size_t v) { sums[f][v] = (Sum)load(kept + (f * V + v) * kLanes); });
  for (std::size_t step = first; step < end; step += Dot::kSteps) {
    add_step<Dot, F, V>(weights + step * kFeatureBlock, units + step * kPanel, sums);
  }
  // The exact sums of these steps and of those before, added in fp32.
  const auto added = [&](std::size_t f, std::size_t v) {
    const Floats sum = __builtin_convertvector(sums[f][v], Floats);
    return first == 0 ? sum : load(kept + (f * V + v) * kLanes) + sum;
  };
  if (end < product.steps) {
    each([&](std::size_t f, std::size_t v) {
      float* const to = kept + (f * V + v) * kLanes;
      if constexpr (in_parts)
        store(to, added(f, v));
      else
        store(to, (Floats)sums[f][v]);
    });
    return;
  }
  // Through the first-level cache, so that the code below is a loop instead of F x V copies of its body.
  float results[F * V * kLanes];
  each([&](std::size_t f, std::size_t v) {
    const std::size_t token = panel * kPanel + v * kLanes;
    const auto sum = [&] {
      if constexpr (in_parts)
        return added(f, v);
      else
        return sum_at<Dot, F, V>(sums, f, v);
    }();
    store(results + (f * V + v) * kLanes, Dot::value(product, sum, feature + f, token) + product.bias[feature + f]);
  });
  finish_tile<Dot, F, V>(product, panel, feature, results);
}

// Steps whose products are summed before others, so that eight panels pass the same weights in the second-level cache.
// Where the first-level cache has 48 KiB, as on Intel's processors with AVX-512 since Ice Lake, 192 steps of a panel,
// 36 KiB, stay in it with the weights, because the second-level cache delivers less than the multiplications take.
// Where it has 32 KiB, parts that fit into it cost more loads and stores of sums than they save (measured on Zen 4).
// Exact sums have the same parts on every level, so that all give the same bits.
template <typename Dot>
std::size_t steps_together() {
  if constexpr (AddsInParts<Dot>) return Dot::kMostSteps;
#if RELUCENT_REGISTERS == 32 && defined(__x86_64__)
  static const bool fits = ::sysconf(_SC_LEVEL1_DCACHE_SIZE) >= 48 << 10;
  return fits ? 192 : 384;
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
  const std::size_t together = steps_together<Dot>();
  const std::size_t parts = (product.steps + together - 1) / together;
  const std::size_t steps = ((product.steps + parts - 1) / parts + Dot::kSteps - 1) / Dot::kSteps * Dot::kSteps;
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
