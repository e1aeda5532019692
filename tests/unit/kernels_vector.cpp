// The vector kernels of every instruction set that this processor has, against sums in double: accuracy, odd lengths,
// and guard words round every output.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "kernels_support.h"

namespace relucent::testing {
namespace {

using cpu::VectorKernels;

std::vector<const VectorKernels*> all_levels() {
  const cpu::VectorLevels found = cpu::available_vector_kernels();
  return {found.levels, found.levels + found.count};
}

/// Memory for `size` values with guard words before and after; starts one float off any vector's alignment.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::size_t size) : memory_(size + 2 * kGuards, kGuard), size_(size) {}
  ~Guarded() {
    for (std::size_t i = 0; i < kGuards; ++i) {
      EXPECT_EQ(memory_[i], kGuard) << "written before the output";
      EXPECT_EQ(memory_[kGuards + size_ + i], kGuard) << "written after the output";
    }
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  T* data() { return memory_.data() + kGuards; }
  T& operator[](std::size_t i) { return data()[i]; }
  void operator=(const std::vector<T>& values) { std::copy(values.begin(), values.end(), data()); }

 private:
  static constexpr std::size_t kGuards = 33;
  static constexpr T kGuard = 12345;
  std::vector<T> memory_;
  std::size_t size_;
};

std::vector<float> numbers(std::size_t count, float spread = 1, std::uint32_t seed = 7) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

constexpr std::size_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 383, 384, 1536};

class VectorLevel : public ::testing::TestWithParam<const VectorKernels*> {
 protected:
  const VectorKernels& kernels_ = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Levels, VectorLevel, ::testing::ValuesIn(all_levels()),
                         [](const auto& level) { return level.param->name; });

TEST_P(VectorLevel, SoftmaxSumsToOneAndKeepsRatios) {
  for (const std::size_t count : kLengths) {
    for (const float spread : {0.1F, 3.0F, 40.0F}) {
      const std::vector<float> x = numbers(count, spread);
      Guarded<float> y(count);
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
  Guarded<float> y(9);
  y = std::vector<float>{-3e30F, 0, 3e30F, -1000, 1000, 5, 6, 7, 3e30F};
  kernels_.softmax(y.data(), 9);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(y[i], i == 2 || i == 8 ? 0.5F : 0.0F);
}

TEST_P(VectorLevel, GeluIsTheErfOneEverywhere) {
  std::vector<float> x;
  for (float value = -12; value <= 12; value += 1.0F / 512) x.push_back(value);
  for (const float value : {0.0F, -0.0F, 1e-30F, -1e-30F, 100.0F, -100.0F, 1e30F, -1e30F}) x.push_back(value);
  Guarded<float> y(x.size());
  y = x;
  const std::vector<float> none(x.size(), 0);
  kernels_.add_gelu(y.data(), none.data(), 1, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = 0.5 * x[i] * std::erfc(-x[i] / std::numbers::sqrt2);
    ASSERT_NEAR(y[i], wanted, 1e-6 + 2e-7 * std::abs(wanted)) << "at " << x[i];
  }
}

TEST_P(VectorLevel, GeluAddsTheBiasOfEachColumn) {
  for (const std::size_t size : kLengths) {
    const std::vector<float> x = numbers(3 * size), bias = numbers(size, 1, 8);
    Guarded<float> y(3 * size);
    y = x;
    kernels_.add_gelu(y.data(), bias.data(), 3, size);
    for (std::size_t i = 0; i < 3 * size; ++i) {
      const double value = static_cast<double>(x[i]) + bias[i % size];
      ASSERT_NEAR(y[i], 0.5 * value * std::erfc(-value / std::numbers::sqrt2), 1e-6) << "size " << size;
    }
    y = x;
    kernels_.add_bias(y.data(), bias.data(), 3, size);
    for (std::size_t i = 0; i < 3 * size; ++i) ASSERT_EQ(y[i], x[i] + bias[i % size]) << "size " << size;
  }
}

TEST_P(VectorLevel, LayerNormOfASumWithItsBias) {
  for (const std::size_t size : kLengths) {
    if (size == 1) continue;  // one value is its own mean: only rounding is left
    const std::vector<float> x = numbers(3 * size, 2), added = numbers(3 * size, 1, 8), bias = numbers(size, 1, 9);
    const std::vector<float> gamma = numbers(size, 1, 10), beta = numbers(size, 1, 11);
    for (const bool with_sum : {true, false}) {
      Guarded<float> y(3 * size);
      y = x;
      kernels_.add_layer_norm(y.data(), with_sum ? added.data() : nullptr, with_sum ? bias.data() : nullptr,
                              gamma.data(), beta.data(), 1e-12F, 3, size);
      for (std::size_t row = 0; row < 3; ++row) {
        std::vector<double> values(size);
        double mean = 0, variance = 0;
        for (std::size_t i = 0; i < size; ++i) {
          values[i] = x[row * size + i];
          if (with_sum) values[i] += static_cast<double>(added[row * size + i]) + bias[i];
          mean += values[i] / static_cast<double>(size);
        }
        for (const double value : values) variance += (value - mean) * (value - mean) / static_cast<double>(size);
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(y[row * size + i], (values[i] - mean) / std::sqrt(variance + 1e-12) * gamma[i] + beta[i], 1e-5)
              << "size " << size;
        }
      }
    }
  }
}

TEST_P(VectorLevel, LayerNormOfLargeOffsetsAndOfConstants) {
  // Mean 1000, deviation 1: a variance from a mean of squares would lose all its digits.
  const std::size_t size = 384;
  const std::vector<float> noise = numbers(size), one(size, 1), zero(size, 0);
  Guarded<float> y(size);
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < size; ++i) mean += static_cast<double>(y[i] = noise[i] + 1000) / size;
  for (std::size_t i = 0; i < size; ++i) variance += (y[i] - mean) * (y[i] - mean) / size;
  const std::vector<float> x(y.data(), y.data() + size);
  kernels_.add_layer_norm(y.data(), nullptr, nullptr, one.data(), zero.data(), 1e-12F, 1, size);
  for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(y[i], (x[i] - mean) / std::sqrt(variance), 2e-4);

  y = std::vector<float>(size, 0.5F);
  kernels_.add_layer_norm(y.data(), nullptr, nullptr, one.data(), one.data(), 1e-12F, 1, size);
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(y[i], 1.0F);
}

TEST_P(VectorLevel, DotProductsAndWeightedSums) {
  for (const std::size_t size : kLengths) {
    const std::size_t count = 5, stride = size + 3;
    const std::vector<float> rows = numbers(count * stride), vector = numbers(size, 1, 8), weights = numbers(count, 1, 9);
    Guarded<float> products(count), sums(size);
    kernels_.dot_products(vector.data(), rows.data(), stride, count, size, products.data());
    kernels_.weighted_sum(weights.data(), rows.data(), stride, count, size, sums.data());
    for (std::size_t k = 0; k < count; ++k) {
      double wanted = 0, magnitude = 0;
      for (std::size_t i = 0; i < size; ++i) {
        wanted += static_cast<double>(vector[i]) * rows[k * stride + i];
        magnitude += std::abs(static_cast<double>(vector[i]) * rows[k * stride + i]);
      }
      ASSERT_NEAR(products[k], wanted, 1e-6 * magnitude) << "size " << size;
    }
    for (std::size_t i = 0; i < size; ++i) {
      double wanted = 0;
      for (std::size_t k = 0; k < count; ++k) wanted += static_cast<double>(weights[k]) * rows[k * stride + i];
      ASSERT_NEAR(sums[i], wanted, 2e-6) << "size " << size;
    }
  }
}

/// What a plain fp32 program computes: same formula, one float after another.
std::vector<float> naive_attention(const std::vector<float>& query, const std::vector<float>& keys,
                                   const std::vector<float>& values, std::size_t head_size) {
  const std::size_t count = keys.size() / head_size;
  const float scale = 1 / std::sqrt(static_cast<float>(head_size));
  std::vector<float> scores(count), output(head_size, 0);
  float highest = -std::numeric_limits<float>::infinity(), total = 0;
  for (std::size_t k = 0; k < count; ++k) {
    float product = 0;
    for (std::size_t i = 0; i < head_size; ++i) product += query[i] * keys[k * head_size + i];
    highest = std::max(highest, scores[k] = product * scale);
  }
  for (float& score : scores) total += score = std::exp(score - highest);
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < head_size; ++i) output[i] += scores[k] / total * values[k * head_size + i];
  }
  return output;
}

TEST_P(VectorLevel, AttentionErrsAtMostTwiceAsMuchAsANaiveFloatOne) {
  for (const std::size_t head_size : {1, 3, 8, 16, 20, 32, 33, 64, 100}) {
    for (const std::size_t count : {1, 2, 9, 22, 170, 4000}) {
      const std::vector<float> query = numbers(head_size, 2), keys = numbers(count * head_size, 1, 8);
      const std::vector<float> values = numbers(count * head_size, 1, 9);
      std::vector<double> scores(count), exact(head_size, 0);
      double total = 0, highest = -1e300;
      for (std::size_t k = 0; k < count; ++k) {
        double product = 0;
        for (std::size_t i = 0; i < head_size; ++i) product += static_cast<double>(query[i]) * keys[k * head_size + i];
        highest = std::max(highest, scores[k] = product / std::sqrt(static_cast<double>(head_size)));
      }
      for (double& score : scores) total += score = std::exp(score - highest);
      for (std::size_t k = 0; k < count; ++k) {
        for (std::size_t i = 0; i < head_size; ++i) exact[i] += scores[k] / total * values[k * head_size + i];
      }
      // The same rows in up to three segments, some of them empty or of one row.
      for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, count / 2}) {
        const std::size_t first = std::min<std::size_t>(cut, 1);
        const cpu::Segment segments[3] = {
            {keys.data(), values.data(), head_size, first},
            {keys.data() + first * head_size, values.data() + first * head_size, head_size, cut - first},
            {keys.data() + cut * head_size, values.data() + cut * head_size, head_size, count - cut}};
        Guarded<float> scratch(count), output(head_size);
        kernels_.attend(query.data(), segments, 3, head_size, 1 / std::sqrt(static_cast<float>(head_size)),
                        scratch.data(), output.data());
        const std::vector<float> naive = naive_attention(query, keys, values, head_size);
        double error = 0, naive_error = 0;
        for (std::size_t i = 0; i < head_size; ++i) {
          error = std::max(error, std::abs(output[i] - exact[i]));
          naive_error = std::max(naive_error, std::abs(naive[i] - exact[i]));
        }
        ASSERT_LE(error, std::min(2 * naive_error + 1e-5, 1e-5)) << "head " << head_size << ", " << count << " keys";
      }
    }
  }
}

TEST_P(VectorLevel, Bf16IsRoundedToNearestWithTiesToEven) {
  const auto from_bits = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  std::vector<float> x = {from_bits(0x3F808000), from_bits(0x3F818000), from_bits(0x3F808001), from_bits(0x3F807FFF),
                          0.0F, -0.0F, from_bits(0x7F7FFFFF), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), from_bits(0x7F800001), from_bits(0x00000001), -1.5F};
  const std::vector<std::uint16_t> wanted = {0x3F80, 0x3F82, 0x3F81, 0x3F80, 0, 0x8000, 0x7F80, 0x7F80, 0xFF80,
                                             0x7FC0, 0, 0xBFC0};
  Guarded<std::uint16_t> halves(x.size());
  Guarded<float> kept(x.size());
  kernels_.round_to_bf16(x.data(), halves.data(), x.size());
  kernels_.round_within_f32(x.data(), kept.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(halves[i], wanted[i]) << "number " << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(kept[i]), std::uint32_t{wanted[i]} << 16) << "number " << i;
  }
}

}  // namespace
}  // namespace relucent::testing
