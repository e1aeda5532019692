// Matrix products of 16-bit and 8-bit operands with tiles. Included by vector_kernels.inl.
//
// A block of 32 features (two tiles high) times a panel of 32 tokens (two tiles wide) needs four tiles of sums, two of
// weights and two of the operand: four multiplications for four loads. The weights of a block stay in the first-level
// cache while the panels stream past; meanwhile the next block's weights are fetched into the second-level cache. What
// follows a block's sums (scales, bias, GELU, packing) happens between the next block's multiplications, because the
// vector units would otherwise wait for the tiles to be stored, and the tile unit for them.

static_assert(kPanelVectors == 2 && kLanes == kTile && kFeatureBlock == kTile);

// Per step of a block: cache lines of the next block's weights, and rows of the next panel's sums, to fetch.
constexpr std::size_t kLinesAhead = 3, kRowsAhead = 4;
// Where sums continue from the output, at most 320 inputs of bf16 are summed at a time: then a block's weights and an
// operand's panel fit in the first-level cache together.
constexpr std::size_t kTileStepsTogether = 10;

struct Bf16Tiles {
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::bf16; }
  static constexpr bool kSumsAreResults = true;
  template <int Sums, int A, int B>
  RELUCENT_INLINE static void add(Tiles& tiles) {
    tiles.add_bf16<Sums, A, B>();
  }
  RELUCENT_INLINE static Floats value(const Product&, const std::int32_t* sums, std::size_t, std::size_t) {
    return (Floats)load_units(sums);
  }
};

struct Int8Tiles {
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::int8; }
  static constexpr bool kSumsAreResults = false;
  template <int Sums, int A, int B>
  RELUCENT_INLINE static void add(Tiles& tiles) {
    tiles.add_int8<Sums, A, B>();
  }
  RELUCENT_INLINE static Floats value(const Product& product, const std::int32_t* sums, std::size_t feature,
                                      std::size_t token) {
    const Floats scales = load(product.token_scales + token) * product.weight_scales[feature];
    // Adding the bias is not fused with this product: the same bits as DotInt8 on every level.
    return __builtin_convertvector(load_units(sums) + product.corrections[feature], Floats) * scales;
  }
};

// A block's sums, [features][kPanel], the first `done` of which are finished.
struct Unfinished {
  const std::int32_t* sums = nullptr;
  std::size_t panel = 0, feature = 0;
  std::size_t done = 0, features = 0;
};

// Finishes the next `pairs` pairs of features, if so many are left, of V vectors of tokens.
template <typename Kind, Product::Output output, std::size_t V>
RELUCENT_INLINE void finish_some(const Product& product, Unfinished& block, std::size_t pairs) {
  for (; pairs > 0 && block.done < block.features; --pairs, block.done += 2) {
    const std::size_t feature = block.feature + block.done;
    const Floats first_bias = all(product.bias[feature]), second_bias = all(product.bias[feature + 1]);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < V; ++v) {
      const std::int32_t* const sums = block.sums + block.done * kPanel + v * kLanes;
      const std::size_t token = block.panel * kPanel + v * kLanes;
      finish_pair<Kind, output>(product, block.panel, feature, v * kLanes,
                                Kind::value(product, sums, feature, token) + first_bias,
                                Kind::value(product, sums + kPanel, feature + 1, token) + second_bias);
    }
  }
}

// Finishes all that is left; seldom, so it is not inlined.
template <typename Kind, Product::Output output, std::size_t V>
[[gnu::noinline]] void finish_rest(const Product& product, Unfinished block) {
  finish_some<Kind, output, V>(product, block, block.features);
}

// The tile steps [first, end) of a product. The weights of the next block of features are at `ahead`.
struct TileSteps {
  std::size_t first, end;
  const char* ahead;
};

// Computes Blocks x V tiles of sums for one panel, starting at `feature`. Tiles 0-3: sums, 4-5: weights, 6-7: operand.
// If `Continue`, the sums start from the output and replace it. Otherwise they start from zero and go to `sums`, and
// `before`, the block computed last, is finished between the multiplications; this block takes its place.
template <typename Kind, Product::Output output, bool Continue, std::size_t Blocks, std::size_t V>
RELUCENT_INLINE void tile_block(Tiles& tiles, const Product& product, std::size_t panel, std::size_t feature,
                                TileSteps& steps, const std::int32_t* rest, std::int32_t* sums, Unfinished& before) {
  const std::size_t whole = product.steps / kTile, tile_steps = (product.steps + kTile - 1) / kTile;
  const std::size_t block_units = tile_steps * kTile * kTile;
  const auto* weights = static_cast<const std::int32_t*>(product.weights) + feature / kTile * block_units;
  const auto* units = static_cast<const std::int32_t*>(product.operand) + panel * product.steps * kPanel;
  constexpr std::size_t weight_stride = kTile * 4, operand_stride = kPanel * 4, features = Blocks * kTile;
  const std::size_t row = Continue ? product.feature_stride : kPanel;
  std::int32_t* const to =
      Continue ? static_cast<std::int32_t*>(product.out) + panel * product.panel_stride + feature * row : sums;
  if constexpr (Continue) {
    tiles.load<0>(to, row * 4);
    if constexpr (V == 2) tiles.load<1>(to + kLanes, row * 4);
    if constexpr (Blocks == 2) tiles.load<2>(to + kTile * row, row * 4);
    if constexpr (Blocks == 2 && V == 2) tiles.load<3>(to + kTile * row + kLanes, row * 4);
  } else {
    tiles.zero<0>();
    if constexpr (V == 2) tiles.zero<1>();
    if constexpr (Blocks == 2) tiles.zero<2>();
    if constexpr (Blocks == 2 && V == 2) tiles.zero<3>();
  }
  const std::size_t count = steps.end - steps.first;
  const std::size_t pairs = (features / 2 + count - 1) / count;  // per step, so that all are finished
  std::size_t fetched = 0;                                       // rows of the next panel's sums
  for (std::size_t step = steps.first; step < steps.end; ++step) {
    for (std::size_t line = 0; line < kLinesAhead; ++line, steps.ahead += 64) __builtin_prefetch(steps.ahead, 0, 2);
    if constexpr (Continue) {
      for (std::size_t r = 0; r < kRowsAhead && fetched < features; ++r, ++fetched) {
        const std::int32_t* const next = to + product.panel_stride + fetched * row;
        __builtin_prefetch(next, 1, 3);
        if constexpr (V == 2) __builtin_prefetch(next + kLanes, 1, 3);
      }
    }
    // The last steps come from a copy padded with zeros, because the memory after the operand may contain NaN.
    const std::int32_t* const x = step < whole ? units + step * kTile * kPanel : rest;
    tiles.load<4>(weights + step * kTile * kTile, weight_stride);
    tiles.load<6>(x, operand_stride);
    if constexpr (V == 2) tiles.load<7>(x + kLanes, operand_stride);
    if constexpr (Blocks == 2) tiles.load<5>(weights + block_units + step * kTile * kTile, weight_stride);
    Kind::template add<0, 4, 6>(tiles);
    if constexpr (V == 2) Kind::template add<1, 4, 7>(tiles);
    if constexpr (Blocks == 2) Kind::template add<2, 5, 6>(tiles);
    if constexpr (Blocks == 2 && V == 2) Kind::template add<3, 5, 7>(tiles);
    if constexpr (!Continue) finish_some<Kind, output, kPanelVectors>(product, before, pairs);
  }
  tiles.store<0>(to, row * 4);
  if constexpr (V == 2) tiles.store<1>(to + kLanes, row * 4);
  if constexpr (Blocks == 2) tiles.store<2>(to + kTile * row, row * 4);
  if constexpr (Blocks == 2 && V == 2) tiles.store<3>(to + kTile * row + kLanes, row * 4);
  if constexpr (!Continue) {
    if (before.done < before.features) finish_rest<Kind, output, kPanelVectors>(product, before);
    before = {sums, panel, feature, 0, features};
    // A last panel that is not full is finished immediately.
    if constexpr (V < kPanelVectors) {
      finish_rest<Kind, output, V>(product, before);
      before = {};
    }
  }
}

template <typename Kind, Product::Output output, bool Continue>
void tile_product_steps(Tiles& tiles, const Product& product, std::size_t first_step, std::size_t end_step) {
  const std::size_t panels = (product.vectors + kPanelVectors - 1) / kPanelVectors, left = product.steps % kTile;
  const std::size_t whole = product.steps - left, block_units = (whole + (left > 0 ? kTile : 0)) * kTile;
  alignas(64) std::int32_t sums[2][2 * kTile * kPanel];  // in turns
  Unfinished before;
  std::size_t turn = 0;
  for (std::size_t feature = 0; feature < product.features;) {
    const bool pair = feature + 2 * kTile <= product.features;
    const std::size_t next = feature + (pair ? 2 * kTile : kTile);
    const auto* const ahead = static_cast<const std::int32_t*>(product.weights) + next / kTile * block_units;
    TileSteps steps{first_step, end_step, reinterpret_cast<const char*>(ahead)};
    for (std::size_t panel = 0; panel < panels; ++panel, turn ^= 1) {
      alignas(64) std::int32_t rest[kTile * kPanel];
      if (left > 0) {
        const auto* units =
            static_cast<const std::int32_t*>(product.operand) + (panel * product.steps + whole) * kPanel;
        __builtin_memcpy(rest, units, left * kPanel * 4);
        __builtin_memset(rest + left * kPanel, 0, (kTile - left) * kPanel * 4);
      }
      const auto block = [&]<std::size_t Blocks, std::size_t V>() {
        tile_block<Kind, output, Continue, Blocks, V>(tiles, product, panel, feature, steps, rest, sums[turn], before);
      };
      const bool full = product.vectors - panel * kPanelVectors >= kPanelVectors;
      if (pair && full)
        block.template operator()<2, 2>();
      else if (pair)
        block.template operator()<2, 1>();
      else if (full)
        block.template operator()<1, 2>();
      else
        block.template operator()<1, 1>();
    }
    feature = next;
  }
  if constexpr (!Continue) finish_rest<Kind, output, kPanelVectors>(product, before);
}

template <typename Kind>
void tile_product(const Product& given) {
  using Output = Product::Output;
  const Product product = given;  // a copy that no store can change, as far as the compiler knows
  const std::size_t tile_steps = (product.steps + kTile - 1) / kTile;
  Tiles tiles;
  if (Kind::kSumsAreResults && product.output == Output::add && !product.biased) {
    const std::size_t parts = (tile_steps + kTileStepsTogether - 1) / kTileStepsTogether;
    for (std::size_t part = 0; part < parts; ++part) {
      tile_product_steps<Kind, Output::add, true>(tiles, product, part * tile_steps / parts,
                                                  (part + 1) * tile_steps / parts);
    }
    return;
  }
  switch (product.output) {
    case Output::store: tile_product_steps<Kind, Output::store, false>(tiles, product, 0, tile_steps); break;
    case Output::add: tile_product_steps<Kind, Output::add, false>(tiles, product, 0, tile_steps); break;
    case Output::gelu: tile_product_steps<Kind, Output::gelu, false>(tiles, product, 0, tile_steps); break;
    case Output::gelu_operand:
      tile_product_steps<Kind, Output::gelu_operand, false>(tiles, product, 0, tile_steps);
      break;
  }
}
