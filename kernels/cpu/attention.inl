// Attention. Included by vector_kernels.inl.
//
// attend() puts a vector of consecutive tokens along the lanes and goes through their keys one by one. It broadcasts a
// key that all of them see, and reads a narrow band diagonal by diagonal (token i + lane sees key i + lane + offset).
// It sums eight keys' scores, or eight dimensions of the output, at a time.

constexpr std::size_t kTogether = 8;
constexpr std::size_t kWidestDiagonals = 16;  // for wider windows, broadcasting keys and masking both ends is cheaper

// scores[k] = scale * q . key(k) for `count` <= 8 keys; `key(d, k)` gives dimension d of key k for all lanes.
template <typename Key>
RELUCENT_INLINE void scores_of(const float* query, std::size_t query_stride, std::size_t head_size, std::size_t count,
                               float scale, float* scores, const Key& key) {
  if (count == kTogether) {
    Floats sums[kTogether] = {};
    for (std::size_t d = 0; d < head_size; ++d) {
      const Floats q = load(query + d * query_stride);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kTogether; ++k) sums[k] = multiply_add(q, key(d, k), sums[k]);
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kTogether; ++k) store(scores + k * kLanes, sums[k] * scale);
    return;
  }
  for (std::size_t k = 0; k < count; ++k) {
    Floats total{};
    for (std::size_t d = 0; d < head_size; ++d) {
      total = multiply_add(load(query + d * query_stride), key(d, k), total);
    }
    store(scores + k * kLanes, total * scale);
  }
}

// sums[i] += sum_k weights[k] * value(first + i, k) for up to eight dimensions.
template <typename Value>
RELUCENT_INLINE void mix(const float* weights, std::size_t count, std::size_t dimensions, Floats (&sums)[kTogether],
                         const Value& value) {
  if (dimensions == kTogether) {
    for (std::size_t k = 0; k < count; ++k) {
      const Floats weight = load(weights + k * kLanes);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kTogether; ++i) sums[i] = multiply_add(weight, value(i, k), sums[i]);
    }
    return;
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      sums[i] = multiply_add(load(weights + k * kLanes), value(i, k), sums[i]);
    }
  }
}

// Computes the tokens [first, first + kLanes), or as many of them as exist.
RELUCENT_INLINE void attend_vector(const Attention& a, std::size_t first) {
  const auto here = static_cast<std::int32_t>(first);
  const Ints token = lane_numbers() + here;
  const auto band = static_cast<std::int32_t>(a.band.count);
  const bool diagonal = a.window <= kWidestDiagonals;
  const auto window = static_cast<std::int32_t>(a.window < a.band.count ? a.window : a.band.count);
  // Keys of the band: diagonals -window .. window, or all keys that any of the lanes sees.
  std::size_t band_first = 0, band_keys = 0;
  if (band > 0) {
    if (diagonal) {
      band_keys = 2 * a.window + 1;
    } else {
      const std::size_t reach = static_cast<std::size_t>(window);
      band_first = first > reach ? first - reach : 0;
      const std::size_t end = first + kLanes + reach;
      band_keys = (end < a.band.count ? end : a.band.count) - band_first;
    }
  }

  const float* query = a.query + first;
  float* scores = a.scores;
  for (std::size_t s = 0; s < a.segment_count; ++s) {
    const Keys& keys = a.segments[s];
    for (std::size_t k = 0; k < keys.count; k += kTogether) {
      const std::size_t count = keys.count - k < kTogether ? keys.count - k : kTogether;
      scores_of(query, a.query_stride, a.head_size, count, a.scale, scores,
                [&](std::size_t d, std::size_t i) { return all(keys.keys[d * keys.stride + k + i]); });
      scores += count * kLanes;
    }
  }
  float* const band_scores = scores;
  for (std::size_t k = 0; k < band_keys; k += kTogether) {
    const std::size_t count = band_keys - k < kTogether ? band_keys - k : kTogether;
    if (diagonal) {
      const float* keys = a.band.keys + first + k - a.window;
      scores_of(query, a.query_stride, a.head_size, count, a.scale, scores,
                [&](std::size_t d, std::size_t i) { return load(keys + d * a.band.stride + i); });
    } else {
      const float* keys = a.band.keys + band_first + k;
      scores_of(query, a.query_stride, a.head_size, count, a.scale, scores,
                [&](std::size_t d, std::size_t i) { return all(keys[d * a.band.stride + i]); });
    }
    scores += count * kLanes;
  }
  // Mask the keys that a token does not see.
  for (std::size_t k = 0; k < band_keys; ++k) {
    float* at = band_scores + k * kLanes;
    if (diagonal) {
      const Ints key = token + (static_cast<std::int32_t>(k) - static_cast<std::int32_t>(a.window));
      store(at, (key >= 0) & (key < band) ? load(at) : all(kLowest));
    } else {
      const std::int32_t key = static_cast<std::int32_t>(band_first + k);
      store(at, (token - key <= window) & (token - key >= -window) ? load(at) : all(kLowest));
    }
  }

  const std::size_t keys = static_cast<std::size_t>(scores - a.scores) / kLanes;
  Floats best = all(kLowest);
  for (std::size_t k = 0; k < keys; ++k) best = higher(best, load(a.scores + k * kLanes));
  Floats total{};
  for (std::size_t k = 0; k < keys; ++k) {
    const Floats power = exponential(load(a.scores + k * kLanes) - best);
    store(a.scores + k * kLanes, power);
    total += power;
  }
  const Floats share = 1.0F / total;

  const std::size_t tokens = a.tokens - first < kLanes ? a.tokens - first : kLanes;
  for (std::size_t d = 0; d < a.head_size; d += kTogether) {
    const std::size_t dimensions = a.head_size - d < kTogether ? a.head_size - d : kTogether;
    Floats sums[kTogether] = {};
    const float* weights = a.scores;
    for (std::size_t s = 0; s < a.segment_count; ++s) {
      const Keys& segment = a.segments[s];
      const float* values = segment.values + d * segment.stride;
      mix(weights, segment.count, dimensions, sums,
          [&](std::size_t i, std::size_t k) { return all(values[i * segment.stride + k]); });
      weights += segment.count * kLanes;
    }
    if (diagonal) {
      const float* values = a.band.values + d * a.band.stride + first - a.window;
      mix(weights, band_keys, dimensions, sums,
          [&](std::size_t i, std::size_t k) { return load(values + i * a.band.stride + k); });
    } else {
      const float* values = a.band.values + d * a.band.stride + band_first;
      mix(weights, band_keys, dimensions, sums,
          [&](std::size_t i, std::size_t k) { return all(values[i * a.band.stride + k]); });
    }
    for (std::size_t i = 0; i < dimensions; ++i) {
      float* out = a.output + (d + i) * a.output_stride + first;
      if (tokens == kLanes)
        store(out, sums[i] * share);
      else
        store_part(out, sums[i] * share, tokens);
    }
  }
}

void attend_by_vectors(const Attention& attention) {
  for (std::size_t first = 0; first < attention.tokens; first += kLanes) attend_vector(attention, first);
}

void softmax(float* values, std::size_t count) {
  const std::size_t whole = count / kLanes * kLanes;
  float rest[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) rest[i] = whole + i < count ? values[whole + i] : kLowest;
  Floats best = load(rest);
  for (std::size_t i = 0; i < whole; i += kLanes) best = higher(best, load(values + i));
  const float shift = highest(best);
  Floats total{};
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const Floats power = exponential(load(values + i) - shift);
    store(values + i, power);
    total += power;
  }
  const Floats power = exponential(load(rest) - shift);  // 0 in the lanes beyond the last value
  store_part(values + whole, power, count - whole);
  const float scale = 1.0F / sum(total + power);
  for (std::size_t i = 0; i < count; ++i) values[i] *= scale;
}

void attend_one(const Attention& a) {
  const Ints lane = lane_numbers();
  float* scores = a.scores;
  for (std::size_t s = 0; s < a.segment_count; ++s) {
    const Keys& keys = a.segments[s];
    for (std::size_t k = 0; k < keys.count; k += kLanes) {
      Floats total{};
      for (std::size_t d = 0; d < a.head_size; ++d) {
        total = multiply_add(all(a.query[d * a.query_stride]), load(keys.keys + d * keys.stride + k), total);
      }
      const auto left = static_cast<std::int32_t>(keys.count - k);
      store(scores, lane < left ? total * a.scale : all(kLowest));
      scores += kLanes;
    }
  }
  softmax(a.scores, static_cast<std::size_t>(scores - a.scores));
  for (std::size_t d = 0; d < a.head_size; ++d) {
    Floats total{};
    const float* weights = a.scores;
    for (std::size_t s = 0; s < a.segment_count; ++s) {
      const Keys& keys = a.segments[s];
      for (std::size_t k = 0; k < keys.count; k += kLanes) {
        total = multiply_add(load(weights), load(keys.values + d * keys.stride + k), total);
        weights += kLanes;
      }
    }
    a.output[d * a.output_stride] = sum(total);
  }
}

// The last block's sums over all tokens, for up to four heads at a time.
constexpr std::size_t kHeadsTogether = 4;

template <std::size_t H>
RELUCENT_INLINE void products_of_heads(const TokenRows& x, const float* vectors, std::size_t count, float* products,
                                       std::size_t stride) {
  for (std::size_t token = 0; token < x.tokens; token += kLanes) {
    Floats sums[H] = {};
    for (std::size_t f = 0; f < x.features; ++f) {
      const Floats value = load(x.rows + f * x.stride + token);
#pragma GCC unroll 4
      for (std::size_t h = 0; h < H; ++h) {
        sums[h] = multiply_add(all(vectors[f * count + h]), value, sums[h]);
      }
    }
    for (std::size_t h = 0; h < H; ++h) store(products + h * stride + token, sums[h]);
  }
}

void token_products(const TokenRows& x, const float* vectors, std::size_t count, float* products, std::size_t stride) {
  std::size_t h = 0;
  for (; h + kHeadsTogether <= count; h += kHeadsTogether) {
    products_of_heads<kHeadsTogether>(x, vectors + h, count, products + h * stride, stride);
  }
  for (; h < count; ++h) products_of_heads<1>(x, vectors + h, count, products + h * stride, stride);
}

template <std::size_t H>
RELUCENT_INLINE void sums_of_heads(const TokenRows& x, const float* weights, std::size_t stride, float* sums,
                                   std::size_t sums_stride) {
  for (std::size_t f = 0; f < x.features; ++f) {
    Floats totals[H] = {};
    for (std::size_t token = 0; token < x.tokens; token += kLanes) {
      const Floats value = load(x.rows + f * x.stride + token);
#pragma GCC unroll 4
      for (std::size_t h = 0; h < H; ++h) {
        totals[h] = multiply_add(load(weights + h * stride + token), value, totals[h]);
      }
    }
    for (std::size_t h = 0; h < H; ++h) sums[h * sums_stride + f] += sum(totals[h]);
  }
}

void token_sums(const TokenRows& x, const float* weights, std::size_t stride, std::size_t count, float* sums,
                std::size_t sums_stride) {
  std::size_t h = 0;
  for (; h + kHeadsTogether <= count; h += kHeadsTogether) {
    sums_of_heads<kHeadsTogether>(x, weights + h * stride, stride, sums + h * sums_stride, sums_stride);
  }
  for (; h < count; ++h) sums_of_heads<1>(x, weights + h * stride, stride, sums + h * sums_stride, sums_stride);
}
