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

// The keys that a vector of tokens sees of a segment.
struct Part {
  const Keys* keys;
  std::size_t count;     // to compute: all, those that any lane sees, or the diagonals
  std::ptrdiff_t first;  // the first of them; of a diagonal, lane 0's
  Ints place;            // of the tokens among the keys
  std::int32_t window;   // negative: none
  bool diagonal;
  std::ptrdiff_t here;  // the place among the keys of the first token
  const float* masks;
};

RELUCENT_INLINE Part part_of(const Keys& keys, std::size_t window, std::size_t first, const float* masks) {
  const std::ptrdiff_t here = static_cast<std::ptrdiff_t>(first) - keys.offset;
  if (window == kNoWindow) return {&keys, keys.count, 0, Ints{}, -1, false, here, masks};
  constexpr std::size_t far = std::size_t{1} << 29;
  const auto reach = static_cast<std::ptrdiff_t>(window < far ? window : far);
  const auto count = static_cast<std::ptrdiff_t>(keys.count), lanes = static_cast<std::ptrdiff_t>(kLanes);
  Part part{&keys,
            0,
            here - reach,
            lane_numbers() + static_cast<std::int32_t>(here),
            static_cast<std::int32_t>(reach),
            window <= kWidestDiagonals,
            here,
            masks};
  if (here + lanes + reach <= 0 || here - reach >= count) return part;
  if (part.diagonal) {
    part.count = static_cast<std::size_t>(2 * reach + 1);
    return part;
  }
  if (part.first < 0) part.first = 0;
  const std::ptrdiff_t end = here + lanes + reach;
  part.count = static_cast<std::size_t>((end < count ? end : count) - part.first);
  return part;
}

// Adds biases and masks to a part's scores, which are those of the tokens from `first` on.
RELUCENT_INLINE void add_to_scores(const Part& part, const float* biases, std::size_t first, float* scores) {
  const Keys& keys = *part.keys;
  for (std::size_t k = 0; k < part.count; ++k) {
    const std::ptrdiff_t key = part.first + static_cast<std::ptrdiff_t>(k), distance = part.here - key;
    Floats sum = load(scores + k * kLanes);
    if (biases != nullptr) sum += part.diagonal ? all(biases[distance]) : load(biases + distance);
    if (keys.biases != nullptr && !part.diagonal) {
      sum += load(keys.biases + static_cast<std::size_t>(key) * keys.bias_stride + first);
    } else if (keys.biases != nullptr) {
      float of_lanes[kLanes] = {};  // 0 for keys that do not exist
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::ptrdiff_t own = key + static_cast<std::ptrdiff_t>(lane);
        if (own < 0 || own >= static_cast<std::ptrdiff_t>(keys.count)) continue;
        of_lanes[lane] = keys.biases[static_cast<std::size_t>(own) * keys.bias_stride + first + lane];
      }
      sum += load(of_lanes);
    }
    if (part.masks != nullptr) sum += part.diagonal ? load(part.masks + key) : all(part.masks[key]);
    store(scores + k * kLanes, sum);
  }
}

// Computes the tokens [first, first + kLanes), or as many of them as exist.
RELUCENT_INLINE void attend_vector(const Attention& a, std::size_t first) {
  constexpr std::size_t most = sizeof a.segments / sizeof a.segments[0] + 1;
  Part parts[most];
  std::size_t part_count = 0;
  for (std::size_t s = 0; s < a.segment_count; ++s) {
    parts[part_count++] = part_of(a.segments[s], a.segments[s].window, first, nullptr);
  }
  if (a.band.count > 0) {
    constexpr std::size_t far = kNoWindow - 1;
    parts[part_count++] = part_of(a.band, a.window < far ? a.window : far, first, a.masks);
  }

  const float* query = a.query + first;
  float* scores = a.scores;
  for (std::size_t p = 0; p < part_count; ++p) {
    const Part& part = parts[p];
    const Keys& keys = *part.keys;
    float* const part_scores = scores;
    for (std::size_t k = 0; k < part.count; k += kTogether) {
      const std::size_t count = part.count - k < kTogether ? part.count - k : kTogether;
      const float* from = keys.keys + part.first + static_cast<std::ptrdiff_t>(k);
      if (part.diagonal) {
        scores_of(query, a.query_stride, a.head_size, count, a.scale, scores,
                  [&](std::size_t d, std::size_t i) { return load(from + d * keys.stride + i); });
      } else {
        scores_of(query, a.query_stride, a.head_size, count, a.scale, scores,
                  [&](std::size_t d, std::size_t i) { return all(from[d * keys.stride + i]); });
      }
      scores += count * kLanes;
    }
    if (a.biases != nullptr || part.masks != nullptr || keys.biases != nullptr) {
      add_to_scores(part, a.biases, first, part_scores);
    }
    if (part.window < 0) continue;
    // Mask the keys that a token does not see.
    for (std::size_t k = 0; k < part.count; ++k) {
      float* at = part_scores + k * kLanes;
      if (part.diagonal) {
        const Ints key = part.place + (static_cast<std::int32_t>(k) - part.window);
        store(at, ((key >= 0) & (key < static_cast<std::int32_t>(keys.count))) ? load(at) : all(kLowest));
      } else {
        const auto key = static_cast<std::int32_t>(part.first) + static_cast<std::int32_t>(k);
        const Ints distance = part.place - key;
        store(at, ((distance <= part.window) & (distance >= -part.window)) ? load(at) : all(kLowest));
      }
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
    for (std::size_t p = 0; p < part_count; ++p) {
      const Part& part = parts[p];
      const std::size_t stride = part.keys->stride;
      const float* values = part.keys->values + d * stride + part.first;
      if (part.diagonal) {
        mix(weights, part.count, dimensions, sums,
            [&](std::size_t i, std::size_t k) { return load(values + i * stride + k); });
      } else {
        mix(weights, part.count, dimensions, sums,
            [&](std::size_t i, std::size_t k) { return all(values[i * stride + k]); });
      }
      weights += part.count * kLanes;
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

void rotate(const Rotation& r) {
  const std::size_t half = r.size / 2;
  for (std::size_t d = 0; d < half; ++d) {
    float* const low = r.rows + d * r.stride;
    float* const high = low + half * r.stride;
    for (std::size_t t = 0; t < r.tokens; t += kLanes) {
      const Floats a = load(low + t), b = load(high + t);
      const Floats cosine = load(r.cosines + d * r.table_stride + t);
      const Floats sine = load(r.sines + d * r.table_stride + t);
      store(low + t, multiply_add(a, cosine, -(b * sine)));
      store(high + t, multiply_add(b, cosine, a * sine));
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
RELUCENT_INLINE void products_of_heads(const TokenRows& x, const float* vectors, std::size_t vector_stride,
                                       float* products, std::size_t stride) {
  for (std::size_t token = 0; token < x.tokens; token += kLanes) {
    Floats sums[H] = {};
    for (std::size_t f = 0; f < x.features; ++f) {
      const Floats value = load(x.rows + f * x.stride + token);
#pragma GCC unroll 4
      for (std::size_t h = 0; h < H; ++h) {
        sums[h] = multiply_add(all(vectors[f * vector_stride + h]), value, sums[h]);
      }
    }
    for (std::size_t h = 0; h < H; ++h) store(products + h * stride + token, sums[h]);
  }
}

void token_products(const TokenRows& x, const float* vectors, std::size_t vector_stride, std::size_t count,
                    float* products, std::size_t stride) {
  std::size_t h = 0;
  for (; h + kHeadsTogether <= count; h += kHeadsTogether) {
    products_of_heads<kHeadsTogether>(x, vectors + h, vector_stride, products + h * stride, stride);
  }
  for (; h < count; ++h) products_of_heads<1>(x, vectors + h, vector_stride, products + h * stride, stride);
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
