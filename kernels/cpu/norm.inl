// Embeddings, LayerNorm and operands. Included by vector_kernels.inl.

void embed(const EmbeddingRows* tokens, std::size_t count, std::size_t features, float* x) {
  const auto row = [&](std::size_t i) { return tokens[i < count ? i : count - 1]; };
  std::size_t f = 0;
  for (; f + kLanes <= features; f += kLanes) {
    Floats rows[kLanes];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) {
      const EmbeddingRows of = row(i);
      rows[i] = load(of.word + f) + load(of.position + f) + load(of.type + f);
    }
    transpose(rows);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) store(x + (f + i) * kPanel, rows[i]);
  }
  for (; f < features; ++f) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const EmbeddingRows of = row(i);
      x[f * kPanel + i] = of.word[f] + of.position[f] + of.type[f];
    }
  }
}

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

// Stores the scale with which each token's largest feature becomes `most`, and returns its inverse.
RELUCENT_INLINE Floats scaled_to(const float* x, std::size_t features, float most, float* scales) {
  const Floats largest = over_features(
      x, features, all(1e-30F), [](Floats so_far, Floats one) { return higher(so_far, magnitude(one)); }, higher);
  store(scales, largest / most);
  return most / largest;
}

// Packs one vector of tokens of an activation's panel into operand units. x: feature f at x[f * kPanel]; units: those
// of step 0.
RELUCENT_INLINE void pack_vector(const float* x, std::size_t features, Arithmetic arithmetic, float* units,
                                 float* scales) {
  const std::size_t rows = padded(features);
  // Features beyond the last one are padding.
  const auto value = [&](std::size_t f) { return f < features ? load(x + f * kPanel) : Floats{}; };
  constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: the low 16 bits of the sum's are the nearest integer's
  switch (arithmetic) {
    case Arithmetic::fp32:
      for (std::size_t f = 0; f < rows; ++f) store(units + f * kPanel, value(f));
      break;
    case Arithmetic::bf16_emulated:
      for (std::size_t f = 0; f < rows; ++f) store(units + f * kPanel, (Floats)rounded_to_bf16(value(f)));
      break;
    case Arithmetic::bf16:
      for (std::size_t f = 0; f < rows; f += 2) {
        store_step<kShortStride>(units, f / 2, bf16_pair(value(f), value(f + 1)));
      }
      break;
    case Arithmetic::int16: {
      const Floats inverse = scaled_to(x, features, kInt16Most, scales);
      const auto number = [&](std::size_t f) { return (Ints)(value(f) * inverse + to_integer) & 0xFFFF; };
      for (std::size_t f = 0; f < rows; f += 2) store_units(units + f / 2 * kPanel, number(f) | number(f + 1) << 16);
      break;
    }
    case Arithmetic::int8: {
      const Floats inverse = scaled_to(x, features, 127, scales);
      const auto byte = [&](std::size_t f) { return (Ints)(value(f) * inverse + (to_integer + 128.0F)) & 255; };
      for (std::size_t f = 0; f < rows; f += 4) {
        store_step<kShortStride>(units, f / 4, byte(f) | byte(f + 1) << 8 | byte(f + 2) << 16 | byte(f + 3) << 24);
      }
      break;
    }
  }
}

RELUCENT_INLINE void pack_at(const float* x, std::size_t features, std::size_t vector, const OperandOut& out) {
  const std::size_t panel = vector / kPanelVectors, in_panel = vector % kPanelVectors * kLanes;
  const std::size_t steps = padded(features) / inputs_together(out.arithmetic);
  float* const units = static_cast<float*>(out.units) + panel * steps * kPanel;
  pack_vector(x, features, out.arithmetic, units + in_panel * unit_stride(out.arithmetic),
              out.token_scales + vector * kLanes);
}

void pack(const float* activation, std::size_t features, std::size_t vectors, const OperandOut& out) {
  for (std::size_t vector = 0; vector < vectors; ++vector) {
    const float* x = activation + vector / kPanelVectors * padded(features) * kPanel + vector % kPanelVectors * kLanes;
    pack_at(x, features, vector, out);
  }
}

void pack_rows(const FeatureRows& from, const OperandOut& out) {
  const std::size_t together = inputs_together(out.arithmetic), steps = padded(from.features) / together;
  const std::size_t end = from.first_token + from.tokens;
  // units_of(row) packs the features that share units.
  const auto each = [&]<std::size_t stride>(const auto& units_of) {
    const std::size_t first_step = from.first_feature / together;
    for (std::size_t start = from.first_token / kLanes * kLanes; start < end; start += kLanes) {
      float* const to = static_cast<float*>(out.units) + start / kPanel * steps * kPanel + start % kPanel * stride;
      const float* const rows = from.rows + start - from.first_token;
      const bool whole = start >= from.first_token && start + kLanes <= end;
      for (std::size_t step = 0; step < from.count / together; ++step) {
        const Ints units = units_of(rows + step * together * from.stride);
        if (whole) {
          store_step<stride>(to, first_step + step, units);
          continue;
        }
        // Another thread may be writing the other lanes.
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const bool own = start + lane >= from.first_token && start + lane < end;
          if (own) unit_at<stride>(to, first_step + step)[lane * stride] = ((Floats)units)[lane];
        }
      }
    }
  };
  switch (out.arithmetic) {
    case Arithmetic::bf16:
      each.template operator()<kShortStride>(
          [&](const float* row) { return bf16_pair(load(row), load(row + from.stride)); });
      break;
    case Arithmetic::bf16_emulated:
      each.template operator()<1>([](const float* row) { return (Ints)rounded_to_bf16(load(row)); });
      break;
    default: each.template operator()<1>([](const float* row) { return (Ints)load(row); }); break;
  }
}

// sums[v] = the sum over the features of take(value, v) for V vectors of tokens, in four partial sums each.
template <std::size_t V, typename Take>
RELUCENT_INLINE void sums_over_features(const float* x, std::size_t features, Floats (&sums)[V], const Take& take) {
  Floats part[4][V] = {};
  std::size_t f = 0;
  for (; f + 4 <= features; f += 4) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) part[i][v] = take(part[i][v], load(x + (f + i) * kPanel + v * kLanes), v);
    }
  }
  for (; f < features; ++f) {
    for (std::size_t v = 0; v < V; ++v) part[0][v] = take(part[0][v], load(x + f * kPanel + v * kLanes), v);
  }
  for (std::size_t v = 0; v < V; ++v) sums[v] = (part[0][v] + part[1][v]) + (part[2][v] + part[3][v]);
}

// Normalizes the vectors [vector, vector + V), all of one panel.
template <std::size_t V>
RELUCENT_INLINE void norm_vectors(const Norm& norm, std::size_t vector, const OperandOut& out) {
  const std::size_t rows = padded(norm.features);
  const float share = 1.0F / static_cast<float>(norm.features);
  const std::size_t start = vector / kPanelVectors * rows * kPanel + vector % kPanelVectors * kLanes;
  float* const x = norm.x + start;
  float* const to = (norm.to == nullptr ? norm.x : norm.to) + start;
  const auto place = [&](std::size_t f, std::size_t v) { return x + f * kPanel + v * kLanes; };
  if (norm.bias != nullptr) {
    for (std::size_t f = 0; f < norm.features; ++f) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) store(place(f, v), load(place(f, v)) + all(norm.bias[f]));
    }
  }
  Floats mean[V] = {}, scale[V];
  if (!norm.rms) {
    sums_over_features<V>(x, norm.features, mean, [](Floats sum, Floats one, std::size_t) { return sum + one; });
    for (std::size_t v = 0; v < V; ++v) mean[v] *= share;
  }
  sums_over_features<V>(x, norm.features, scale, [&mean](Floats sum, Floats one, std::size_t v) {
    return multiply_add(one - mean[v], one - mean[v], sum);
  });
  for (std::size_t v = 0; v < V; ++v) {
    scale[v] = 1.0F / square_root(multiply_add(scale[v], all(share), all(norm.epsilon)));
  }
  const auto value = [&](std::size_t f, std::size_t v) {
    return multiply_add((load(place(f, v)) - mean[v]) * scale[v], all(norm.gamma[f]), all(norm.beta[f]));
  };
  if (out.units != nullptr && out.arithmetic == Arithmetic::bf16 && norm.features == rows) {
    // Packed while they are in registers.
    float* const units = static_cast<float*>(out.units) + vector / kPanelVectors * (rows / 2) * kPanel +
                         vector % kPanelVectors * kLanes * kShortStride;
    for (std::size_t f = 0; f < rows; f += 2) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < V; ++v) {
        const Floats first = value(f, v), second = value(f + 1, v);
        store(to + f * kPanel + v * kLanes, first);
        store(to + (f + 1) * kPanel + v * kLanes, second);
        store_step<kShortStride>(units + v * kLanes * kShortStride, f / 2, bf16_pair(first, second));
      }
    }
    return;
  }
  for (std::size_t f = 0; f < norm.features; ++f) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < V; ++v) store(to + f * kPanel + v * kLanes, value(f, v));
  }
  for (std::size_t v = 0; v < V && out.units != nullptr; ++v) pack_at(to + v * kLanes, norm.features, vector + v, out);
}

void norm(const Norm& norm, const OperandOut& out) {
  std::size_t vector = 0;
  for (; vector + kPanelVectors <= norm.vectors; vector += kPanelVectors) {
    norm_vectors<kPanelVectors>(norm, vector, out);
  }
  for (; vector < norm.vectors; ++vector) norm_vectors<1>(norm, vector, out);
}
