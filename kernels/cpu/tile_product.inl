// Matrix products of 16-bit and 8-bit operands with tiles. Included by vector_kernels.inl.
//
// A block of 32 features (two tiles high) times a panel of 32 tokens (two tiles wide) needs four tiles of sums, two of
// weights and two of the operand: four multiplications for four loads. The weights of a block stay in the first-level
// cache while the panels stream past.

static_assert(kPanelVectors == 2 && kLanes == kTile && kFeatureBlock == kTile);

struct Bf16Tiles {
  template <int Sums, int A, int B>
  RELUCENT_INLINE static void add(Tiles& tiles) {
    tiles.add_bf16<Sums, A, B>();
  }
  RELUCENT_INLINE static Floats value(const Product&, const std::int32_t* sums, std::size_t, std::size_t) {
    return (Floats)load_units(sums);
  }
};

struct Int8Tiles {
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

// Computes Blocks x V tiles of sums for one panel, starting at `feature`. Tiles 0-3: sums, 4-5: weights, 6-7: operand.
template <typename Kind, std::size_t Blocks, std::size_t V>
RELUCENT_INLINE void tile_block(Tiles& tiles, const Product& product, std::size_t panel, std::size_t feature,
                                const std::int32_t* rest) {
  const std::size_t whole = product.steps / kTile, tile_steps = (product.steps + kTile - 1) / kTile;
  const std::size_t block_units = tile_steps * kTile * kTile;
  const auto* weights = static_cast<const std::int32_t*>(product.weights) + feature / kTile * block_units;
  const auto* units = static_cast<const std::int32_t*>(product.operand) + panel * product.steps * kPanel;
  constexpr std::size_t weight_stride = kTile * 4, operand_stride = kPanel * 4;
  tiles.zero<0>();
  if constexpr (V == 2) tiles.zero<1>();
  if constexpr (Blocks == 2) tiles.zero<2>();
  if constexpr (Blocks == 2 && V == 2) tiles.zero<3>();
  for (std::size_t step = 0; step < tile_steps; ++step) {
    // The last steps come from a copy padded with zeros, because the memory after the operand may contain NaN.
    const std::int32_t* x = step < whole ? units + step * kTile * kPanel : rest;
    tiles.load<4>(weights + step * kTile * kTile, weight_stride);
    tiles.load<6>(x, operand_stride);
    Kind::template add<0, 4, 6>(tiles);
    if constexpr (V == 2) {
      tiles.load<7>(x + kLanes, operand_stride);
      Kind::template add<1, 4, 7>(tiles);
    }
    if constexpr (Blocks == 2) {
      tiles.load<5>(weights + block_units + step * kTile * kTile, weight_stride);
      Kind::template add<2, 5, 6>(tiles);
      if constexpr (V == 2) Kind::template add<3, 5, 7>(tiles);
    }
  }
  constexpr std::size_t features = Blocks * kTile;
  std::int32_t sums[features * V * kLanes];  // [features][V][lanes]
  constexpr std::size_t row = V * kLanes * 4;
  tiles.store<0>(sums, row);
  if constexpr (V == 2) tiles.store<1>(sums + kLanes, row);
  if constexpr (Blocks == 2) tiles.store<2>(sums + kTile * V * kLanes, row);
  if constexpr (Blocks == 2 && V == 2) tiles.store<3>(sums + kTile * V * kLanes + kLanes, row);
  float results[features * V * kLanes];
  for (std::size_t f = 0; f < features; ++f) {
    for (std::size_t v = 0; v < V; ++v) {
      const std::size_t at = (f * V + v) * kLanes;
      store(results + at,
            Kind::value(product, sums + at, feature + f, panel * kPanel + v * kLanes) + product.bias[feature + f]);
    }
  }
  finish_tile<features, V>(product, panel, feature, results);
}

template <typename Kind>
void tile_product(const Product& product) {
  Tiles tiles;
  const std::size_t panels = (product.vectors + kPanelVectors - 1) / kPanelVectors, left = product.steps % kTile;
  const std::size_t whole = product.steps - left;
  for (std::size_t feature = 0; feature < product.features;) {
    const bool pair = feature + 2 * kTile <= product.features;
    for (std::size_t panel = 0; panel < panels; ++panel) {
      std::int32_t rest[kTile * kPanel] = {};
      if (left > 0) {
        const auto* units =
            static_cast<const std::int32_t*>(product.operand) + (panel * product.steps + whole) * kPanel;
        __builtin_memcpy(rest, units, left * kPanel * 4);
      }
      const bool full = product.vectors - panel * kPanelVectors >= kPanelVectors;
      if (pair && full)
        tile_block<Kind, 2, 2>(tiles, product, panel, feature, rest);
      else if (pair)
        tile_block<Kind, 2, 1>(tiles, product, panel, feature, rest);
      else if (full)
        tile_block<Kind, 1, 2>(tiles, product, panel, feature, rest);
      else
        tile_block<Kind, 1, 1>(tiles, product, panel, feature, rest);
    }
    feature += pair ? 2 * kTile : kTile;
  }
}
