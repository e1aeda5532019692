// The other kernels of every instruction set that this processor has, against sums in double: accuracy, odd lengths,
// and guard words around outputs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/half.h"
#include "kernels/activate.h"
#include "kernels/cpu/packed_linear.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

using cpu::Arithmetic;
using cpu::VectorKernels;

constexpr float kGuard = 12345;

/// Memory for `size` floats with guard words before and after; starts one float off any vector's alignment.
class Guarded {
 public:
  explicit Guarded(std::size_t size, float value = 0) : memory_(size + 2 * kGuards, kGuard), size_(size) {
    std::fill_n(data(), size, value);
  }
  ~Guarded() {
    for (std::size_t i = 0; i < kGuards; ++i) {
      EXPECT_EQ(memory_[i], kGuard) << "written before the output";
      EXPECT_EQ(memory_[kGuards + size_ + i], kGuard) << "written after the output";
    }
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  float* data() { return memory_.data() + kGuards; }
  float& operator[](std::size_t i) { return data()[i]; }
  void operator=(const std::vector<float>& values) { std::copy(values.begin(), values.end(), data()); }

 private:
  static constexpr std::size_t kGuards = 33;
  std::vector<float> memory_;
  std::size_t size_;
};

constexpr std::size_t kLengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   15,  16,  17,
                                    31, 32, 33, 48, 63, 64, 65, 100, 383, 384, 1536};

class VectorLevel : public ::testing::TestWithParam<const VectorKernels*> {
 protected:
  const VectorKernels& kernels_ = *GetParam();
  std::size_t whole(std::size_t tokens) const {
    return (tokens + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes;
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, VectorLevel, ::testing::ValuesIn(all_levels()),
                         [](const auto& level) { return level.param->name; });

TEST_P(VectorLevel, SoftmaxSumsToOneAndKeepsRatios) {
  for (const std::size_t count : kLengths) {
    for (const float spread : {0.1F, 3.0F, 40.0F}) {
      const std::vector<float> x = random_numbers(count, spread);
      Guarded y(count);
      y = x;
      kernels_.softmax(y.data(), count);
      const double highest = *std::max_element(x.begin(), x.end());
      double total = 0;
      for (const float value : x) total += std::exp(value - highest);
      for (std::size_t i = 0; i < count; ++i) {
        const double wanted = std::exp(x[i] - highest) / total;
        const double relative = 1e-6 + 1e-7 * (highest - x[i]);  // the difference itself is rounded to fp32
        ASSERT_NEAR(y[i], wanted, relative * wanted + 1e-30) << "count " << count << ", spread " << spread;
      }
    }
  }
}

TEST_P(VectorLevel, SoftmaxOfExtremesIsFinite) {
  Guarded y(9);
  y = std::vector<float>{-3e30F, 0, 3e30F, -1000, 1000, 5, 6, 7, 3e30F};
  kernels_.softmax(y.data(), 9);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(y[i], i == 2 || i == 8 ? 0.5F : 0.0F);
}

TEST_P(VectorLevel, LayerNormOfEachTokenAndItsOperand) {
  for (const std::size_t size : kLengths) {
    if (size == 1) continue;  // one value is its own mean: only rounding is left
    const std::size_t rows = cpu::padded(size), panel = kernels_.panel, vectors = 4,
                      panels = (4 * kernels_.lanes + panel - 1) / panel;
    const std::vector<float> x = random_numbers(panels * rows * panel, 2), gamma = random_numbers(size, 1, 10),
                             beta = random_numbers(size, 1, 11);
    for (const Arithmetic arithmetic : {Arithmetic::fp32, Arithmetic::bf16_emulated}) {
      Guarded y(x.size()), operand(x.size());
      std::vector<float> scales(panels * panel);
      y = x;
      kernels_.norm({y.data(), gamma.data(), beta.data(), 1e-12F, size, vectors},
                    {arithmetic, operand.data(), scales.data()});
      for (std::size_t token = 0; token < vectors * kernels_.lanes; ++token) {
        const auto at = [&](std::size_t f) { return (token / panel * rows + f) * panel + token % panel; };
        double mean = 0, variance = 0;
        for (std::size_t f = 0; f < size; ++f) mean += x[at(f)] / static_cast<double>(size);
        for (std::size_t f = 0; f < size; ++f)
          variance += (x[at(f)] - mean) * (x[at(f)] - mean) / static_cast<double>(size);
        for (std::size_t f = 0; f < size; ++f) {
          ASSERT_NEAR(y[at(f)], (x[at(f)] - mean) / std::sqrt(variance + 1e-12) * gamma[f] + beta[f], 1e-5)
              << "size " << size;
          const float wanted = arithmetic == Arithmetic::fp32 ? y[at(f)] : from_bf16(to_bf16(y[at(f)]));
          ASSERT_EQ(operand[at(f)], wanted);
        }
        for (std::size_t f = size; f < rows; ++f) ASSERT_EQ(operand[at(f)], 0) << "padding must count for nothing";
      }
    }
  }
}

TEST_P(VectorLevel, LayerNormPacksPairsOfBf16AsPackDoes) {
  for (const std::size_t size : {5, 64, 100, 384}) {
    const std::size_t rows = cpu::padded(size), panel = kernels_.panel, vectors = 4,
                      panels = (4 * kernels_.lanes + panel - 1) / panel;
    const std::vector<float> gamma = random_numbers(size, 1, 10), beta = random_numbers(size, 1, 11);
    std::vector<float> x = random_numbers(panels * rows * panel, 2);
    std::vector<std::uint32_t> found(panels * rows / 2 * panel), wanted(found.size());
    kernels_.norm({x.data(), gamma.data(), beta.data(), 1e-12F, size, vectors},
                  {Arithmetic::bf16, found.data(), nullptr});
    kernels_.pack(x.data(), size, vectors, {Arithmetic::bf16, wanted.data(), nullptr});
    ASSERT_EQ(found, wanted) << size;
  }
}

// A bias before the norm gives the bits of a norm of the biased activation.
TEST_P(VectorLevel, LayerNormAddsABiasFirst) {
  for (const std::size_t size : {5, 64, 100}) {
    const std::size_t rows = cpu::padded(size), panel = kernels_.panel, vectors = 4,
                      panels = (4 * kernels_.lanes + panel - 1) / panel;
    const std::vector<float> x = random_numbers(panels * rows * panel, 2), bias = random_numbers(size, 1, 9),
                             gamma = random_numbers(size, 1, 10), beta = random_numbers(size, 1, 11);
    Guarded found(x.size()), wanted(x.size());
    found = x;
    wanted = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / panel % rows < size) wanted[i] += bias[i / panel % rows];
    }
    cpu::Norm norm{wanted.data(), gamma.data(), beta.data(), 1e-12F, size, vectors, nullptr};
    kernels_.norm(norm, {});
    norm.x = found.data();
    norm.bias = bias.data();
    kernels_.norm(norm, {});
    for (std::size_t token = 0; token < vectors * kernels_.lanes; ++token) {
      for (std::size_t f = 0; f < size; ++f) {
        const std::size_t at = (token / panel * rows + f) * panel + token % panel;
        ASSERT_EQ(found[at], wanted[at]) << "size " << size;
      }
    }
  }
}

TEST_P(VectorLevel, EmbeddingsAreSumsOfThreeRowsEach) {
  const std::size_t lanes = kernels_.lanes, panel = kernels_.panel;
  for (const std::size_t size : kLengths) {
    for (const std::size_t count : {std::size_t{1}, lanes - 1, lanes}) {
      const std::vector<float> word = random_numbers(size * count, 1, 1), position = random_numbers(size * count, 1, 2),
                               type = random_numbers(size, 1, 3);
      std::vector<cpu::EmbeddingRows> tokens;
      for (std::size_t i = 0; i < count; ++i) {
        tokens.push_back({word.data() + i * size, position.data() + i * size, type.data()});
      }
      Guarded x((size - 1) * panel + lanes, kGuard);
      kernels_.embed(tokens.data(), count, size, x.data());
      for (std::size_t f = 0; f < size; ++f) {
        for (std::size_t i = 0; i < lanes; ++i) {
          if (i >= count) {
            ASSERT_TRUE(std::isfinite(x[f * panel + i]));
            continue;
          }
          ASSERT_EQ(x[f * panel + i], word[i * size + f] + position[i * size + f] + type[f]) << size << ' ' << count;
        }
        for (std::size_t i = lanes; f + 1 < size && i < panel; ++i) ASSERT_EQ(x[f * panel + i], kGuard);
      }
    }
  }
}

// Rows packed in pieces, in any order, are the operand of the whole activation.
TEST_P(VectorLevel, RowsPackedInPiecesAreTheOperandOfAll) {
  const std::size_t panel = kernels_.panel, features = 40, head = 10, tokens = 2 * panel + 5,
                    rows = cpu::padded(features), panels = 3, stride = tokens + 2 * cpu::kReach;
  const std::vector<float> x = random_numbers(features * tokens, 3);
  std::vector<float> activation(panels * rows * panel), padded_rows(features * stride, std::nanf(""));
  for (std::size_t f = 0; f < features; ++f) {
    for (std::size_t t = 0; t < tokens; ++t) {
      activation[(t / panel * rows + f) * panel + t % panel] = x[f * tokens + t];
      padded_rows[f * stride + cpu::kReach + t] = x[f * tokens + t];
    }
  }
  for (const Arithmetic arithmetic : {Arithmetic::fp32, Arithmetic::bf16_emulated, Arithmetic::bf16}) {
    const std::size_t steps = rows / cpu::inputs_together(arithmetic);
    std::vector<std::uint32_t> wanted(panels * steps * panel), found(wanted.size());
    const std::size_t vectors = (tokens + kernels_.lanes - 1) / kernels_.lanes;
    kernels_.pack(activation.data(), features, vectors, {arithmetic, wanted.data(), nullptr});
    for (const std::size_t first : {std::size_t{7}, std::size_t{0}}) {  // tokens 7 to the end, then those before
      for (std::size_t h = 0; h < features / head; ++h) {
        kernels_.pack_rows({.rows = padded_rows.data() + h * head * stride + cpu::kReach + first,
                            .stride = stride,
                            .first_feature = h * head,
                            .count = head,
                            .first_token = first,
                            .tokens = first == 0 ? 7 : tokens - first,
                            .features = features},
                           {arithmetic, found.data(), nullptr});
      }
    }
    ASSERT_EQ(found, wanted);
  }
}

TEST_P(VectorLevel, LayerNormOfLargeOffsetsAndOfConstants) {
  // Mean 1000, deviation 1: a variance from a mean of squares would lose all its digits.
  const std::size_t size = 384, panel = kernels_.panel;
  const std::vector<float> noise = random_numbers(size), one(size, 1), zero(size, 0);
  std::vector<float> y(size * panel), x(size);
  double mean = 0, variance = 0;
  for (std::size_t f = 0; f < size; ++f) {
    x[f] = noise[f] + 1000;
    std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(f * panel), panel, x[f]);
    mean += static_cast<double>(x[f]) / size;
  }
  for (std::size_t f = 0; f < size; ++f) variance += (x[f] - mean) * (x[f] - mean) / size;
  kernels_.norm({y.data(), one.data(), zero.data(), 1e-12F, size, 1}, {});
  for (std::size_t f = 0; f < size; ++f) ASSERT_NEAR(y[f * panel], (x[f] - mean) / std::sqrt(variance), 2e-4);
  std::fill(y.begin(), y.end(), 0.5F);
  kernels_.norm({y.data(), one.data(), one.data(), 1e-12F, size, 1}, {});
  for (std::size_t f = 0; f < size; ++f) ASSERT_EQ(y[f * panel], 1.0F);
}

/// The unit that one panel's operand has of a token for a step.
std::uint32_t unit_of(const VectorKernels& kernels, Arithmetic arithmetic, const std::vector<std::uint32_t>& units,
                      std::size_t step, std::size_t token) {
  const std::size_t wide = cpu::steps_side_by_side(kernels.layout, arithmetic);
  return units[step / wide * wide * kernels.panel + token * wide + step % wide];
}

TEST_P(VectorLevel, Bf16OperandsArePairsRoundedToEven) {
  const std::size_t panel = kernels_.panel, size = 17, rows = cpu::padded(size);
  const std::vector<float> x = random_numbers(rows * panel, 3);
  std::vector<std::uint32_t> units(rows / 2 * panel, 1);
  kernels_.pack(x.data(), size, 1, {Arithmetic::bf16, units.data(), nullptr});
  for (std::size_t token = 0; token < kernels_.lanes; ++token) {
    for (std::size_t f = 0; f < rows; ++f) {
      const std::uint32_t unit = unit_of(kernels_, Arithmetic::bf16, units, f / 2, token);
      const auto half = static_cast<std::uint16_t>(unit >> (16 * (f % 2)));
      ASSERT_EQ(half, f < size ? to_bf16(x[f * panel + token]) : 0) << "feature " << f;
    }
  }
}

TEST_P(VectorLevel, EightBitOperandsReachFromOneToTwoHundredAndFiftyFive) {
  const std::size_t panel = kernels_.panel, size = 18, rows = cpu::padded(size);
  std::vector<float> x = random_numbers(rows * panel, 3);
  for (std::size_t f = 0; f < size; ++f) x[f * panel] = 0;  // a token of zeros
  std::vector<std::uint32_t> units(rows / 4 * panel, 1);
  std::vector<float> scales(panel);
  kernels_.pack(x.data(), size, 1, {Arithmetic::int8, units.data(), scales.data()});
  for (std::size_t token = 0; token < kernels_.lanes; ++token) {
    float widest = 0;
    for (std::size_t f = 0; f < size; ++f) widest = std::max(widest, std::abs(x[f * panel + token]));
    for (std::size_t f = 0; f < rows; ++f) {
      const std::uint32_t unit = unit_of(kernels_, Arithmetic::int8, units, f / 4, token);
      const int byte = static_cast<int>(unit >> (8 * (f % 4)) & 255U);
      if (f >= size || token == 0) {
        ASSERT_EQ(byte, 128);
        continue;
      }
      ASSERT_NEAR(scales[token], widest / 127, 1e-6 * widest);
      ASSERT_NEAR(static_cast<float>(byte - 128) * scales[token], x[f * panel + token], 0.501F * scales[token]);
    }
  }
}

TEST_P(VectorLevel, ProductsAndSumsOfTokens) {
  for (const std::size_t tokens : {1, 5, 16, 33, 175}) {
    for (const std::size_t heads : {1, 3, 4, 12}) {
      const std::size_t features = 30, stride = whole(tokens);
      const std::vector<float> x = random_numbers(features * stride, 1, 1),
                               vectors = random_numbers(features * heads, 1, 2);
      std::vector<float> weights = random_numbers(heads * stride, 1, 3);
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t t = tokens; t < stride; ++t) weights[h * stride + t] = 0;
      }
      Guarded products(heads * stride), sums(heads * features, 1);
      const cpu::TokenRows rows{x.data(), stride, features, tokens};
      kernels_.token_products(rows, vectors.data(), heads, heads, products.data(), stride);
      kernels_.token_sums(rows, weights.data(), stride, heads, sums.data(), features);
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t t = 0; t < tokens; ++t) {
          double wanted = 0;
          for (std::size_t f = 0; f < features; ++f)
            wanted += static_cast<double>(vectors[f * heads + h]) * x[f * stride + t];
          ASSERT_NEAR(products[h * stride + t], wanted, 1e-5);
        }
        for (std::size_t f = 0; f < features; ++f) {
          double wanted = 1;
          for (std::size_t t = 0; t < tokens; ++t)
            wanted += static_cast<double>(weights[h * stride + t]) * x[f * stride + t];
          ASSERT_NEAR(sums[h * features + f], wanted, 2e-5);
        }
      }
    }
  }
}

TEST_P(VectorLevel, ActivationsAndGates) {
  const auto is_short = [](Activation one) { return one == Activation::gelu_erf || one == Activation::gelu_10; };
  const std::size_t count = 8 * kernels_.lanes;
  const std::vector<float> gate = random_numbers(count, 2, 3);
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::silu, Activation::gelu_erf, Activation::gelu_tanh,
        Activation::gelu_10, Activation::quick_gelu, Activation::mish, Activation::tanh}) {
    for (const float spread : {0.5F, 4.0F, 60.0F}) {
      const std::vector<float> x = random_numbers(count, spread, 1);
      for (const bool gated : {false, true}) {
        for (const bool rounded : {false, true}) {
          Guarded y(count);
          y = x;
          kernels_.activate(activation, rounded, y.data(), gated ? gate.data() : nullptr, count);
          for (std::size_t i = 0; i < count; ++i) {
            const double factor = gated ? gate[i] : 1, size = std::max(1.0, std::abs(factor * x[i]));
            const double tolerance = rounded && is_short(activation) ? 3e-4 : 1e-6;
            ASSERT_NEAR(y[i], activate(x[i], activation) * factor, tolerance * size)
                << "activation " << static_cast<int>(activation) << " of " << x[i];
          }
        }
      }
    }
  }
}

TEST_P(VectorLevel, RotationTurnsPairsOfRows) {
  for (const std::size_t size : {2, 8, 64}) {
    const std::size_t tokens = 3 * kernels_.lanes, stride = tokens + 7, table_stride = tokens + 5;
    const std::vector<float> x = random_numbers(size * stride, 2, 1);
    std::vector<float> cosines(size / 2 * table_stride), sines(cosines.size());
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      cosines[i] = std::cos(static_cast<float>(i));
      sines[i] = std::sin(static_cast<float>(i));
    }
    Guarded y(x.size());
    y = x;
    kernels_.rotate({y.data(), stride, size, cosines.data(), sines.data(), table_stride, tokens});
    for (std::size_t d = 0; d < size / 2; ++d) {
      for (std::size_t t = 0; t < stride; ++t) {
        const std::size_t low = d * stride + t, high = low + size / 2 * stride, at = d * table_stride + t;
        const bool turned = t < tokens;
        ASSERT_NEAR(y[low], turned ? x[low] * cosines[at] - x[high] * sines[at] : x[low], 1e-6);
        ASSERT_NEAR(y[high], turned ? x[high] * cosines[at] + x[low] * sines[at] : x[high], 1e-6);
      }
    }
  }
}

// A norm into other memory leaves its input alone, and one without a mean divides by the root of the mean square.
TEST_P(VectorLevel, NormsIntoOtherMemoryAndWithoutMean) {
  for (const std::size_t size : {5, 64, 100}) {
    const std::size_t rows = cpu::padded(size), panel = kernels_.panel, vectors = 4,
                      panels = (4 * kernels_.lanes + panel - 1) / panel;
    const std::vector<float> x = random_numbers(panels * rows * panel, 2), gamma = random_numbers(size, 1, 10),
                             beta = random_numbers(size, 1, 11), zeros(size);
    for (const bool rms : {false, true}) {
      for (const Arithmetic arithmetic : {Arithmetic::fp32, Arithmetic::bf16}) {
        Guarded from(x.size()), to(x.size());
        from = x;
        std::vector<std::uint32_t> found(panels * rows * panel), wanted(found.size());
        cpu::Norm norm{from.data(), gamma.data(), rms ? zeros.data() : beta.data(), 1e-6F, size, vectors};
        norm.rms = rms;
        norm.to = to.data();
        kernels_.norm(norm, {arithmetic, found.data(), nullptr});
        kernels_.pack(to.data(), size, vectors, {arithmetic, wanted.data(), nullptr});
        ASSERT_EQ(found, wanted);
        for (std::size_t token = 0; token < vectors * kernels_.lanes; ++token) {
          const auto at = [&](std::size_t f) { return (token / panel * rows + f) * panel + token % panel; };
          double mean = 0, square = 0;
          for (std::size_t f = 0; f < size; ++f) mean += rms ? 0 : x[at(f)] / static_cast<double>(size);
          for (std::size_t f = 0; f < size; ++f) square += (x[at(f)] - mean) * (x[at(f)] - mean);
          const double scale = 1 / std::sqrt(square / static_cast<double>(size) + 1e-6);
          for (std::size_t f = 0; f < size; ++f) {
            ASSERT_NEAR(to[at(f)], (x[at(f)] - mean) * scale * gamma[f] + (rms ? 0 : beta[f]), 1e-5);
            ASSERT_EQ(from[at(f)], x[at(f)]);
          }
        }
      }
    }
  }
}

/// One head's tokens with a segment of keys before them and themselves as a band.
struct Head {
  std::size_t size, tokens, others, stride;
  std::vector<float> query, keys, values, other_keys, other_values;

  Head(std::size_t head_size, std::size_t token_count, std::size_t other_count)
      : size(head_size),
        tokens(token_count),
        others(other_count),
        stride(token_count + 2 * cpu::kReach + 16),
        query(random_numbers(size * stride, 2, 1)),
        keys(random_numbers(size * stride, 1, 2)),
        values(random_numbers(size * stride, 1, 3)),
        other_keys(random_numbers(size * (others + 16), 1, 4)),
        other_values(random_numbers(size * (others + 16), 1, 5)) {}

  /// Whether token i sees key j of the band.
  static bool sees(std::size_t i, std::size_t j, std::size_t window) { return (i > j ? i - j : j - i) <= window; }

  /// The exact answer, and a plain fp32 program's: same formula, one float after another. `T`: double or float.
  template <typename T>
  std::vector<T> attend(std::size_t token, std::size_t window, bool band) const {
    std::vector<T> scores;
    std::vector<std::pair<const float*, std::size_t>> seen_values;
    T highest = -std::numeric_limits<T>::infinity(), total = 0;
    const auto add = [&](const float* key, const float* value, std::size_t key_stride) {
      T product = 0;
      for (std::size_t d = 0; d < size; ++d)
        product += static_cast<T>(query[d * stride + cpu::kReach + token]) * key[d * key_stride];
      scores.push_back(product * (1 / std::sqrt(static_cast<T>(size))));
      highest = std::max(highest, scores.back());
      seen_values.emplace_back(value, key_stride);
    };
    for (std::size_t j = 0; j < others; ++j) add(other_keys.data() + j, other_values.data() + j, others + 16);
    for (std::size_t j = 0; band && j < tokens; ++j) {
      if (sees(token, j, window)) add(keys.data() + cpu::kReach + j, values.data() + cpu::kReach + j, stride);
    }
    for (T& score : scores) total += score = std::exp(score - highest);
    std::vector<T> output(size, 0);
    for (std::size_t k = 0; k < scores.size(); ++k) {
      for (std::size_t d = 0; d < size; ++d)
        output[d] += scores[k] / total * seen_values[k].first[d * seen_values[k].second];
    }
    return output;
  }

  cpu::Attention attention(std::size_t window) const {
    cpu::Attention a;
    a.query = query.data() + cpu::kReach;
    a.query_stride = stride;
    a.tokens = tokens;
    // The same keys in two segments.
    const std::size_t half = others / 2;
    if (half > 0) a.segments[a.segment_count++] = {other_keys.data(), other_values.data(), others + 16, half};
    if (others > half) {
      a.segments[a.segment_count++] = {other_keys.data() + half, other_values.data() + half, others + 16,
                                       others - half};
    }
    a.band = {keys.data() + cpu::kReach, values.data() + cpu::kReach, stride, tokens};
    a.window = window;
    a.head_size = size;
    a.scale = 1 / std::sqrt(static_cast<float>(size));
    return a;
  }
};

// Segments with windows of their own, narrow and wide, that lie before and after the tokens; also with biases by
// distance, and with every third key of the band hidden.
TEST_P(VectorLevel, AttentionThroughWindowsIntoOtherSegments) {
  constexpr std::size_t size = 8;
  for (const std::size_t tokens : {1, 7, 40}) {
    for (const std::size_t window : {0, 3, 16, 17, 200}) {
      for (const std::ptrdiff_t offset : {-60, -5, 0, 4, 30}) {
        for (const auto& [more, narrow] : {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
          const Head head(size, tokens, 50);
          // The keys of the segment with reach on both sides.
          const std::size_t count = 50, stride = count + 2 * cpu::kReach;
          const std::vector<float> keys = random_numbers(size * stride, 1, 7),
                                   values = random_numbers(size * stride, 1, 8);
          // A band that all tokens see, or one of few diagonals.
          const std::size_t band = narrow ? 3 : tokens;
          cpu::Attention a = head.attention(band);
          a.segment_count = 1;
          a.segments[0] = {keys.data() + cpu::kReach, values.data() + cpu::kReach, stride, count, offset, window};
          std::vector<float> scores((count + tokens + 4 * cpu::kReach) * kernels_.lanes);
          Guarded output(size * head.stride);
          a.scores = scores.data();
          a.output = output.data() + cpu::kReach;
          a.output_stride = head.stride;
          const std::vector<float> biases = random_numbers(600, 2, 9);
          std::vector<float> masks(tokens + 2 * cpu::kReach);
          const auto hidden = [&](std::size_t key) { return a.masks != nullptr && key % 3 == 1; };
          if (more) {
            a.biases = biases.data() + 300;
            a.masks = masks.data() + cpu::kReach;
            for (std::size_t j = 0; j < tokens; ++j) {
              if (hidden(j)) masks[cpu::kReach + j] = -std::numeric_limits<float>::max();
            }
          }
          kernels_.attend(a);
          for (std::size_t i = 0; i < tokens; ++i) {
            std::vector<double> weights;
            std::vector<const float*> seen;
            std::vector<std::size_t> strides;
            const auto add = [&](const float* key, const float* value, std::size_t key_stride, std::ptrdiff_t apart) {
              double product = 0;
              for (std::size_t d = 0; d < size; ++d) {
                product += static_cast<double>(a.query[d * a.query_stride + i]) * key[d * key_stride];
              }
              weights.push_back(std::exp(product * a.scale + (more ? a.biases[apart] : 0)));
              seen.push_back(value);
              strides.push_back(key_stride);
            };
            for (std::size_t j = 0; j < count; ++j) {
              const std::ptrdiff_t apart = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j) - offset;
              if (static_cast<std::size_t>(std::abs(apart)) <= window) {
                add(a.segments[0].keys + j, a.segments[0].values + j, stride, apart);
              }
            }
            for (std::size_t j = 0; j < tokens; ++j) {
              const std::ptrdiff_t apart = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j);
              const bool near = static_cast<std::size_t>(std::abs(apart)) <= band;
              if (near && !hidden(j)) add(a.band.keys + j, a.band.values + j, head.stride, apart);
            }
            const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
            for (std::size_t d = 0; d < size; ++d) {
              double wanted = 0;
              for (std::size_t k = 0; k < weights.size(); ++k) wanted += weights[k] / total * seen[k][d * strides[k]];
              ASSERT_NEAR(a.output[d * head.stride + i], wanted, 2e-6)
                  << "token " << i << " of " << tokens << ", window " << window << ", offset " << offset;
            }
          }
        }
      }
    }
  }
}

TEST_P(VectorLevel, AttentionErrsAtMostTwiceAsMuchAsANaiveFloatOne) {
  for (const std::size_t head_size : {1, 3, 8, 20, 32, 64}) {
    for (const std::size_t tokens : {1, 2, 15, 16, 17, 40, 170}) {
      for (const std::size_t others : {1, 9, 20}) {
        for (const std::size_t window : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{16},
                                         std::size_t{17}, std::size_t{64}, tokens}) {
          const Head head(head_size, tokens, others);
          cpu::Attention a = head.attention(window);
          const std::size_t output_stride = tokens + 3;
          std::vector<float> output(head_size * output_stride, kGuard),
              scores((others + tokens + 2 * cpu::kReach + 8) * kernels_.lanes);
          a.output = output.data();
          a.output_stride = output_stride;
          a.scores = scores.data();
          kernels_.attend(a);
          double error = 0, naive_error = 0;
          for (std::size_t token = 0; token < tokens; ++token) {
            const std::vector<double> exact = head.attend<double>(token, window, true);
            const std::vector<float> naive = head.attend<float>(token, window, true);
            for (std::size_t d = 0; d < head_size; ++d) {
              error = std::max(error, std::abs(output[d * output_stride + token] - exact[d]));
              naive_error = std::max(naive_error, std::abs(naive[d] - exact[d]));
            }
          }
          ASSERT_LE(error, std::min(2 * naive_error + 1e-5, 1e-5))
              << "head " << head_size << ", " << tokens << " tokens, " << others << " others, window " << window;
          for (std::size_t d = 0; d < head_size; ++d) {
            for (std::size_t i = tokens; i < output_stride; ++i) ASSERT_EQ(output[d * output_stride + i], kGuard);
          }
        }
      }
    }
  }
}

/// The output of a head's attention, [dimensions][tokens], where operands may be rounded to bf16.
std::vector<float> attend_in_bf16(const VectorKernels& kernels, const Head& head, std::size_t window) {
  cpu::Attention a = head.attention(window);
  a.arithmetic = Arithmetic::bf16;
  std::vector<float> output(head.size * head.tokens),
      scores((head.others + head.tokens + 2 * cpu::kReach + 8) * kernels.lanes);
  a.output = output.data();
  a.output_stride = head.tokens;
  a.scores = scores.data();
  kernels.attend(a);
  return output;
}

constexpr std::size_t kTileTokens[] = {1, 2, 15, 16, 17, 31, 32, 33, 40, 170};

// Heads of 32 dimensions are computed by tiles where there are tiles. Queries, keys and values are exact in bf16 here,
// so that only the weights are rounded, each by at most 2^-9 of it; their sum is 1.
TEST_P(VectorLevel, AttentionWithRoundedOperandsErrsByTheWeightsRounding) {
  for (const std::size_t tokens : kTileTokens) {
    for (const std::size_t others : {1, 9, 16, 17, 32, 33}) {
      for (const std::size_t window : {0, 1, 4, 8, 9}) {
        Head head(32, tokens, others);
        for (std::vector<float>* const each :
             {&head.query, &head.keys, &head.values, &head.other_keys, &head.other_values}) {
          for (float& value : *each) value = from_bf16(to_bf16(value));
        }
        float largest = 0;
        for (const auto* const values : {&head.values, &head.other_values}) {
          for (const float value : *values) largest = std::max(largest, std::abs(value));
        }
        const std::vector<float> found = attend_in_bf16(kernels_, head, window);
        for (std::size_t token = 0; token < tokens; ++token) {
          const std::vector<double> exact = head.attend<double>(token, window, true);
          for (std::size_t d = 0; d < 32; ++d) {
            ASSERT_NEAR(found[d * tokens + token], exact[d], 0x1p-9 * largest + 1e-5)
                << tokens << " tokens, " << others << " others, window " << window << ", token " << token;
          }
        }
      }
    }
  }
}

TEST(AttentionWithTiles, EqualsItsTwinToTheBit) {
  const VectorKernels *tiles = nullptr, *twin = nullptr;
  for (const VectorKernels* level : all_levels()) {
    if (std::string(level->name) == "amx") tiles = level;
    if (std::string(level->name) == "amx_emulated") twin = level;
  }
#if defined(__x86_64__)
  ASSERT_NE(twin, nullptr);
#endif
  if (tiles == nullptr) GTEST_SKIP() << "SKIPPED: this processor has no AMX";
  for (const std::size_t tokens : kTileTokens) {
    for (const std::size_t others : {1, 16, 17, 32}) {
      const Head head(32, tokens, others);
      EXPECT_EQ(attend_in_bf16(*tiles, head, 4), attend_in_bf16(*twin, head, 4)) << tokens << ' ' << others;
    }
  }
}

TEST_P(VectorLevel, AttentionOfOneTokenToAllKeys) {
  for (const std::size_t others : {1, 9, 16, 33, 170, 4000}) {
    const Head head(32, 1, others);
    cpu::Attention a = head.attention(0);
    a.band = {};
    std::vector<float> output(32), scores(2 * whole(others) + 2 * kernels_.lanes);
    a.output = output.data();
    a.output_stride = 1;
    a.scores = scores.data();
    kernels_.attend_one(a);
    const std::vector<double> exact = head.attend<double>(0, 0, false);
    for (std::size_t d = 0; d < 32; ++d) ASSERT_NEAR(output[d], exact[d], 1e-5) << others << " keys";
  }
}

}  // namespace
}  // namespace relucent::testing
