// Attention with tiles, for queries, keys, values and weights that may be rounded to bf16: heads of 32 dimensions, a
// narrow band and few keys besides. Included by vector_kernels.inl.
//
// A vector of 16 tokens sees keys among 32 of the band, from kTileReach before its first token on, and up to 32 others.
// Their scores are at most four tiles, [keys][tokens], and the weighted sums two, [dimensions][tokens]. The softmax of
// one vector follows the next vector's scores, so that neither unit waits for the other.

constexpr std::size_t kTileReach = 8, kTileKeys = 2 * kTile, kTileHead = 2 * kTile;

bool fits_tiles(const Attention& a) {
  std::size_t others = 0;
  for (std::size_t s = 0; s < a.segment_count; ++s) {
    if (a.segments[s].window != kNoWindow || a.segments[s].biases != nullptr) return false;
    others += a.segments[s].count;
  }
  return a.biases == nullptr && a.band.biases == nullptr && a.masks == nullptr && a.arithmetic == Arithmetic::bf16 &&
         a.head_size == kTileHead && a.band.count == a.tokens && a.window <= kTileReach && others <= kTileKeys;
}

// 2^x for x <= 0; 2^-126 below -126. x = n + r with |r| <= 1/2; 2^r by a minimax fit of degree 4, whose relative error
// is 3e-6: far below that of bf16.
RELUCENT_INLINE Floats power_of_two(Floats x) {
  constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: the sum's lowest bits are the nearest integer's
  const Floats bounded = higher(x, all(-126.0F));
  const Floats shifted = bounded + to_integer, r = bounded - (shifted - to_integer);
  Floats power = all(0.0095827006F);
  power = multiply_add(power, r, all(0.0559068767F));
  power = multiply_add(power, r, all(0.240241042F));
  power = multiply_add(power, r, all(0.693124107F));
  power = multiply_add(power, r, all(1.0F));
  return (Floats)((Ints)power + ((Ints)shifted << 23));
}

// Two vectors of bf16, one after the other.
RELUCENT_INLINE Ints bf16_row(Floats first, Floats second) {
#if RELUCENT_BF16
  return (Ints)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
#else
  const Words low = rounded_to_bf16(without_denormals(first)) >> 16,
              high = rounded_to_bf16(without_denormals(second)) >> 16;
  std::uint16_t halves[2 * kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    halves[i] = static_cast<std::uint16_t>(low[i]);
    halves[kLanes + i] = static_cast<std::uint16_t>(high[i]);
  }
  return __builtin_bit_cast(Ints, halves);
#endif
}

// 16 keys, keys[d * stride + i], as a tile [key][pairs of dimensions].
RELUCENT_INLINE void key_tile(const float* keys, std::size_t stride, std::int32_t* tile) {
  Floats pairs[kLanes];
#pragma GCC unroll 16
  for (std::size_t p = 0; p < kTile; ++p) {
    pairs[p] = (Floats)bf16_pair(load(keys + 2 * p * stride), load(keys + (2 * p + 1) * stride));
  }
  transpose(pairs);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kTile; ++i) store_units(tile + i * kTile, (Ints)pairs[i]);
}

// The values of 32 keys, values[d * stride + i], as two tiles [dimension][pairs of keys].
RELUCENT_INLINE void value_tiles(const float* values, std::size_t stride, std::int32_t* tiles) {
  for (std::size_t d = 0; d < kTileHead; ++d) {
    store_units(tiles + d * kTile, bf16_row(load(values + d * stride), load(values + d * stride + kLanes)));
  }
}

// The weights of 32 keys, [key][token], as a tile [pairs of keys][token].
RELUCENT_INLINE void weight_tile(const float* weights, std::int32_t* tile) {
  for (std::size_t p = 0; p < kTile; ++p) {
    store_units(tile + p * kTile, bf16_pair(load(weights + 2 * p * kLanes), load(weights + (2 * p + 1) * kLanes)));
  }
}

// One head's attention of all tokens: score(), weigh() and write() for each vector of tokens in this order.
class TileAttention {
 public:
  explicit TileAttention(const Attention& attention) : a_(attention) {
    // The other keys side by side, those missing as zeros.
    float keys[kTileHead * kTileKeys] = {}, values[kTileHead * kTileKeys] = {};
    for (std::size_t s = 0; s < a_.segment_count; ++s) {
      const Keys& from = a_.segments[s];
      for (std::size_t d = 0; d < kTileHead; ++d) {
        __builtin_memcpy(keys + d * kTileKeys + others_, from.keys + d * from.stride, from.count * 4);
        __builtin_memcpy(values + d * kTileKeys + others_, from.values + d * from.stride, from.count * 4);
      }
      others_ += from.count;
    }
    key_tile(keys, kTileKeys, other_keys_);
    key_tile(keys + kTile, kTileKeys, other_keys_ + kTile * kTile);
    value_tiles(values, kTileKeys, other_values_);
    key_tile(a_.band.keys - kTileReach, a_.band.stride, keys_[0]);
  }

  void score(std::size_t first) {
    const std::size_t turn = first / kLanes % 2;
    float* const scores = scores_[turn];
    key_tile(a_.band.keys + first + kTileReach, a_.band.stride, keys_[turn ^ 1]);
    alignas(64) std::int32_t queries[kTile * kTile];
    for (std::size_t p = 0; p < kTile; ++p) {
      const float* const q = a_.query + 2 * p * a_.query_stride + first;
      store_units(queries + p * kTile, bf16_pair(load(q), load(q + a_.query_stride)));
    }
    tiles_.load<4>(queries, kRow);
    tiles_.load<5>(keys_[turn], kRow);
    tiles_.load<6>(keys_[turn ^ 1], kRow);
    tiles_.zero<0>();
    tiles_.add_bf16<0, 5, 4>();
    tiles_.zero<1>();
    tiles_.add_bf16<1, 6, 4>();
    tiles_.store<0>(scores, kRow);
    tiles_.store<1>(scores + kTile * kLanes, kRow);
    tiles_.load<5>(other_keys_, kRow);
    tiles_.zero<2>();
    tiles_.add_bf16<2, 5, 4>();
    tiles_.store<2>(scores + kTileKeys * kLanes, kRow);
    if (others_ <= kTile) return;
    tiles_.load<6>(other_keys_ + kTile * kTile, kRow);
    tiles_.zero<3>();
    tiles_.add_bf16<3, 6, 4>();
    tiles_.store<3>(scores + (kTileKeys + kTile) * kLanes, kRow);
  }

  void weigh(std::size_t first) {
    const std::size_t turn = first / kLanes % 2;
    float* const band = scores_[turn];
    float* const others = band + kTileKeys * kLanes;
    // Row r is key first + r - kTileReach; token first + lane sees it if lane and r - kTileReach differ by at most the
    // window.
    const std::size_t before = first < a_.window ? first : a_.window;
    const std::size_t begin = kTileReach - before, last = kTileReach + kLanes + a_.window;
    const std::size_t known = a_.band.count + kTileReach - first, end = last < known ? last : known;
    const auto window = static_cast<std::int32_t>(a_.window);
    const auto seen = [&](std::size_t r) {
      const Ints away = lane_numbers() - (static_cast<std::int32_t>(r) - static_cast<std::int32_t>(kTileReach));
      return (away >= -window) & (away <= window);
    };
    Floats best = all(kLowest);
    for (std::size_t r = begin; r < end; ++r) {
      best = higher(best, seen(r) ? load(band + r * kLanes) : all(kLowest));
    }
    for (std::size_t k = 0; k < others_; ++k) best = higher(best, load(others + k * kLanes));
    const Floats to_power = all(a_.scale * 1.44269504F), shift = -best * to_power;
    const auto power = [&](const float* score) { return power_of_two(multiply_add(load(score), to_power, shift)); };
    Floats total{};
    for (std::size_t r = 0; r < begin; ++r) store(band + r * kLanes, Floats{});
    for (std::size_t r = begin; r < end; ++r) {
      const Floats weight = seen(r) ? power(band + r * kLanes) : Floats{};
      store(band + r * kLanes, weight);
      total += weight;
    }
    for (std::size_t r = end; r < kTileKeys; ++r) store(band + r * kLanes, Floats{});
    for (std::size_t k = 0; k < others_; ++k) {
      const Floats weight = power(others + k * kLanes);
      store(others + k * kLanes, weight);
      total += weight;
    }
    for (std::size_t k = others_; k < kTileKeys; ++k) store(others + k * kLanes, Floats{});
    shares_[turn] = 1.0F / total;

    alignas(64) std::int32_t values[kTileHead * kTile], band_weights[kTile * kTile], other_weights[kTile * kTile];
    value_tiles(a_.band.values + first - kTileReach, a_.band.stride, values);
    weight_tile(band, band_weights);
    weight_tile(others, other_weights);
    tiles_.zero<0>();
    tiles_.zero<1>();
    tiles_.load<4>(values, kRow);
    tiles_.load<5>(values + kTile * kTile, kRow);
    tiles_.load<6>(band_weights, kRow);
    tiles_.add_bf16<0, 4, 6>();
    tiles_.add_bf16<1, 5, 6>();
    tiles_.load<2>(other_values_, kRow);
    tiles_.load<3>(other_values_ + kTile * kTile, kRow);
    tiles_.load<7>(other_weights, kRow);
    tiles_.add_bf16<0, 2, 7>();
    tiles_.add_bf16<1, 3, 7>();
    tiles_.store<0>(sums_[turn], kRow);
    tiles_.store<1>(sums_[turn] + kTile * kLanes, kRow);
  }

  void write(std::size_t first) {
    const std::size_t turn = first / kLanes % 2;
    const std::size_t tokens = a_.tokens - first < kLanes ? a_.tokens - first : kLanes;
    for (std::size_t d = 0; d < kTileHead; ++d) {
      const Floats value = load(sums_[turn] + d * kLanes) * shares_[turn];
      float* const out = a_.output + d * a_.output_stride + first;
      if (tokens == kLanes)
        store(out, value);
      else
        store_part(out, value, tokens);
    }
  }

 private:
  static constexpr std::size_t kRow = kTile * 4;
  const Attention& a_;
  Tiles tiles_;
  std::size_t others_ = 0;  // keys besides the band's
  alignas(64) std::int32_t other_keys_[kTileKeys * kTile];
  alignas(64) std::int32_t other_values_[kTileHead * kTile];
  alignas(64) std::int32_t keys_[2][kTile * kTile];  // in turns: the band's 16 keys from kTileReach before, and after
  // For two vectors of tokens in turns: scores, then weights, of the band's and the other keys; sums; 1 / total weight.
  alignas(64) float scores_[2][2 * kTileKeys * kLanes] = {};
  alignas(64) float sums_[2][kTileHead * kLanes];
  Floats shares_[2];
};

void attend_by_tiles(const Attention& attention) {
  TileAttention tiles(attention);
  tiles.score(0);
  for (std::size_t first = 0; first < attention.tokens; first += kLanes) {
    if (first + kLanes < attention.tokens) tiles.score(first + kLanes);
    if (first > 0) tiles.write(first - kLanes);
    tiles.weigh(first);
  }
  tiles.write((attention.tokens - 1) / kLanes * kLanes);
}
