// Matrix products of every instruction set, in every arithmetic, against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/half.h"
#include "kernels/cpu/packed_linear.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

using cpu::Arithmetic;
using cpu::PackedLinear;
using cpu::Product;
using cpu::VectorKernels;

constexpr Arithmetic kAll[] = {Arithmetic::fp32, Arithmetic::bf16, Arithmetic::bf16_emulated, Arithmetic::int16,
                               Arithmetic::int8};

const char* name_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp32: return "fp32";
    case Arithmetic::bf16: return "bf16";
    case Arithmetic::bf16_emulated: return "bf16_emulated";
    case Arithmetic::int16: return "int16";
    case Arithmetic::int8: return "int8";
  }
  return "";
}

/// What a product makes of an activation: [features][tokens].
struct Result {
  std::vector<float> values;
  bool wrote_elsewhere = false;
};

struct Shape {
  std::size_t inputs, outputs, tokens;
};

/// Packs `x` [inputs][tokens] and multiplies it by `weight` [outputs][inputs]; panels as the level wants them.
Result multiply(const VectorKernels& kernels, Arithmetic arithmetic, const Shape& shape,
                const std::vector<float>& weight, const std::vector<float>& bias, const std::vector<float>& x,
                Product::Output output, std::size_t first_block = 0) {
  const std::size_t panel = kernels.panel, vectors = (shape.tokens + kernels.lanes - 1) / kernels.lanes;
  const std::size_t panels = (vectors * kernels.lanes + panel - 1) / panel;
  const std::size_t rows = cpu::padded(shape.inputs);
  std::vector<float> activation(panels * rows * panel, 0);
  for (std::size_t f = 0; f < shape.inputs; ++f) {
    for (std::size_t t = 0; t < shape.tokens; ++t) {
      activation[(t / panel * rows + f) * panel + t % panel] = x[f * shape.tokens + t];
    }
  }
  const PackedLinear linear(arithmetic, kernels.layout, weight, bias, shape.inputs);
  // What is not an operand need not be a number.
  const std::size_t units = panels * linear.steps() * panel;
  std::vector<float> operand(units + 4096, std::nanf("")), scales(panels * panel, 1);
  kernels.pack(activation.data(), shape.inputs, vectors, {arithmetic, operand.data(), scales.data()});

  const std::size_t first = first_block * cpu::kFeatureBlock, features = linear.features() - first;
  constexpr float guard = 12345;
  std::vector<float> out((panels * features + 2) * panel, guard);
  for (std::size_t i = panel; i < out.size() - panel; ++i) out[i] = output == Product::Output::add ? 1 : guard;
  Product product = linear.product(first, features);
  product.operand = operand.data();
  product.token_scales = scales.data();
  product.vectors = vectors;
  product.output = output;
  product.out = out.data() + panel;
  product.panel_stride = features * panel;
  product.feature_stride = panel;
  kernels.product(product);

  Result result;
  for (std::size_t i = 0; i < panel; ++i) {
    result.wrote_elsewhere = result.wrote_elsewhere || out[i] != guard || out[out.size() - 1 - i] != guard;
  }
  result.values.resize((shape.outputs - first) * shape.tokens);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const std::size_t f = i / shape.tokens, t = i % shape.tokens;
    result.values[i] = out[panel + (t / panel * features + f) * panel + t % panel];
  }
  return result;
}

float rounded(Arithmetic arithmetic, float value) {
  const bool bf16 = arithmetic == Arithmetic::bf16 || arithmetic == Arithmetic::bf16_emulated;
  return bf16 ? from_bf16(to_bf16(value)) : value;
}

constexpr Shape kShapes[] = {{384, 96, 100}, {96, 80, 17}, {100, 47, 33}, {7, 1, 1},
                             {30, 33, 48},   {64, 16, 97}, {1536, 32, 5}};

class ProductOf : public ::testing::TestWithParam<const VectorKernels*> {};
INSTANTIATE_TEST_SUITE_P(Levels, ProductOf, ::testing::ValuesIn(all_levels()),
                         [](const auto& level) { return level.param->name; });

TEST_P(ProductOf, EqualsSumsInDouble) {
  for (const Arithmetic arithmetic : kAll) {
    for (const Shape& shape : kShapes) {
      const std::vector<float> weight = random_numbers(shape.inputs * shape.outputs, 1, 1);
      const std::vector<float> bias = random_numbers(shape.outputs, 1, 2),
                               x = random_numbers(shape.inputs * shape.tokens, 1, 3);
      const Result found = multiply(*GetParam(), arithmetic, shape, weight, bias, x, Product::Output::store);
      EXPECT_FALSE(found.wrote_elsewhere) << name_of(arithmetic);
      ASSERT_EQ(found.values.size(), shape.outputs * shape.tokens);
      for (std::size_t out = 0; out < shape.outputs; ++out) {
        for (std::size_t t = 0; t < shape.tokens; ++t) {
          double wanted = bias[out], size = 1;
          float widest_weight = 0, widest_x = 0;
          for (std::size_t in = 0; in < shape.inputs; ++in) {
            const float a = weight[out * shape.inputs + in], b = x[in * shape.tokens + t];
            wanted += static_cast<double>(rounded(arithmetic, a)) * rounded(arithmetic, b);
            size += std::abs(static_cast<double>(a) * b);
            widest_weight = std::max(widest_weight, std::abs(a));
            widest_x = std::max(widest_x, std::abs(b));
          }
          // Each integer operand is off by up to half of a 127th or 2047th of its widest; the errors add up like a
          // random walk.
          const double most = arithmetic == Arithmetic::int8 ? 127 : cpu::kInt16Most;
          const double walk = 5 * std::sqrt(static_cast<double>(shape.inputs)) / 2 / most * widest_weight * widest_x;
          const double tolerance = cpu::is_scaled(arithmetic) ? walk + 1e-5 : 2e-6 * size;
          ASSERT_NEAR(found.values[out * shape.tokens + t], wanted, tolerance)
              << name_of(arithmetic) << " " << shape.inputs << " x " << shape.outputs << ", feature " << out
              << ", token " << t;
        }
      }
    }
  }
}

TEST_P(ProductOf, AddsAppliesGeluAndTakesPartOfTheFeatures) {
  const Shape shape{96, 80, 50};
  const std::vector<float> weight = random_numbers(shape.inputs * shape.outputs, 0.2F, 1),
                           bias = random_numbers(shape.outputs, 1, 2);
  const std::vector<float> x = random_numbers(shape.inputs * shape.tokens, 1, 3);
  for (const Arithmetic arithmetic : kAll) {
    SCOPED_TRACE(name_of(arithmetic));
    const auto run = [&](Product::Output output, std::size_t first_block = 0) {
      return multiply(*GetParam(), arithmetic, shape, weight, bias, x, output, first_block).values;
    };
    const std::vector<float> stored = run(Product::Output::store), added = run(Product::Output::add);
    const std::vector<float> activated = run(Product::Output::gelu), part = run(Product::Output::store, 2);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      ASSERT_EQ(added[i], 1 + stored[i]);
      // short_gelu()'s bound, for results that are rounded to 16 or 8 bits.
      const double bound = arithmetic == Arithmetic::fp32 ? 3e-6 : 1e-4;
      ASSERT_NEAR(activated[i], 0.5 * stored[i] * std::erfc(-stored[i] / std::numbers::sqrt2), bound);
    }
    ASSERT_EQ(part.size(), 48 * shape.tokens);
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], stored[32 * shape.tokens + i]);
  }
}

// Without a bias, sums may continue from the output: a product in two parts of its inputs, added to what is there.
TEST_P(ProductOf, AddsPartsOfTheInputsWithoutABias) {
  for (const Arithmetic arithmetic : kAll) {
    for (const Shape& part : {Shape{400, 80, 50}, Shape{96, 48, 33}, Shape{7, 1, 1}}) {
      const std::vector<float> weight = random_numbers(part.inputs * part.outputs, 1, 1);
      const std::vector<float> x = random_numbers(part.inputs * part.tokens, 1, 3);
      const auto run = [&](Product::Output output) {
        return multiply(*GetParam(), arithmetic, part, weight, {}, x, output);
      };
      const Result added = run(Product::Output::add);
      EXPECT_FALSE(added.wrote_elsewhere) << name_of(arithmetic);
      const std::vector<float> stored = run(Product::Output::store).values;
      for (std::size_t i = 0; i < stored.size(); ++i) {
        ASSERT_NEAR(added.values[i], 1 + stored[i], 1e-4) << name_of(arithmetic) << ' ' << part.inputs;
      }
    }
  }
}

// A token's results are the same bits whichever lane, panel and tile width it stands in.
TEST_P(ProductOf, DoesNotDependOnATokensPlace) {
  const Shape one{96, 80, 1};
  const std::vector<float> weight = random_numbers(one.inputs * one.outputs, 1, 1),
                           bias = random_numbers(one.outputs, 1, 2);
  for (const Arithmetic arithmetic : kAll) {
    const std::size_t tokens = 2 * GetParam()->panel + 1;
    const std::vector<float> x = random_numbers(one.inputs, 1, 3);
    std::vector<float> repeated(x.size() * tokens);
    for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = x[i / tokens];
    const auto alone = multiply(*GetParam(), arithmetic, one, weight, bias, x, Product::Output::store).values;
    const auto many = multiply(*GetParam(), arithmetic, {one.inputs, one.outputs, tokens}, weight, bias, repeated,
                               Product::Output::store);
    for (std::size_t i = 0; i < many.values.size(); ++i)
      ASSERT_EQ(many.values[i], alone[i / tokens]) << name_of(arithmetic);
  }
}

// The largest operands of either sign, over more inputs than a sum of 32 bits has room for; each part's sum is exact,
// and here so is that of the parts.
TEST_P(ProductOf, SumsOfInt16DoNotOverflow) {
  for (const std::size_t inputs : {cpu::kInt16Inputs, 2 * cpu::kInt16Inputs, std::size_t{1536}, std::size_t{4096}}) {
    const Shape shape{inputs, 16, 50};
    for (const float x : {1.0F, -1.0F}) {
      const Result found = multiply(*GetParam(), Arithmetic::int16, shape, std::vector<float>(16 * inputs, 1), {},
                                    std::vector<float>(50 * inputs, x), Product::Output::store);
      const float wanted = x * static_cast<float>(inputs);
      for (const float value : found.values) ASSERT_NEAR(value, wanted, 2e-7 * static_cast<double>(inputs));
    }
  }
}

// Exact sums, of the same parts on every level.
TEST(ProductsOfInt16, HaveTheSameBitsOnEveryLevel) {
  for (const Shape& shape : {Shape{96, 80, 100}, Shape{768, 33, 49}, Shape{1536, 32, 5}, Shape{30, 5, 17}}) {
    const std::vector<float> weight = random_numbers(shape.inputs * shape.outputs, 1, 1),
                             bias = random_numbers(shape.outputs, 1, 2),
                             x = random_numbers(shape.inputs * shape.tokens, 1, 3);
    std::vector<float> first;
    for (const VectorKernels* level : all_levels()) {
      const auto found = multiply(*level, Arithmetic::int16, shape, weight, bias, x, Product::Output::store).values;
      if (first.empty()) first = found;
      ASSERT_EQ(found, first) << level->name << ", " << shape.inputs << " inputs";
    }
  }
}

// What is rounded to 16 bits afterwards: bf16 itself has the bound's error at 0.05.
TEST_P(ProductOf, GeluOfRoundedResultsIsWithinItsBound) {
  std::vector<float> x;
  for (float value = -12; value <= 12; value += 1.0F / 16) x.push_back(value);  // exact in bf16
  const Shape shape{1, 1, x.size()};
  const std::vector<float> y =
      multiply(*GetParam(), Arithmetic::bf16, shape, {1}, {0}, x, Product::Output::gelu).values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = 0.5 * x[i] * std::erfc(-x[i] / std::numbers::sqrt2);
    ASSERT_NEAR(y[i], wanted, 1e-4 + 3e-6 * std::max(0.0F, std::abs(x[i]) - 4.2F)) << "at " << x[i];
  }
}

TEST_P(ProductOf, GeluIsTheErfOneEverywhere) {
  std::vector<float> x;
  for (float value = -12; value <= 12; value += 1.0F / 512) x.push_back(value);
  for (const float value : {0.0F, -0.0F, 1e-30F, -1e-30F, 100.0F, -100.0F, 1e30F, -1e30F}) x.push_back(value);
  const Shape shape{1, 1, x.size()};
  const std::vector<float> y =
      multiply(*GetParam(), Arithmetic::fp32, shape, {1}, {0}, x, Product::Output::gelu).values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = 0.5 * x[i] * std::erfc(-x[i] / std::numbers::sqrt2);
    ASSERT_NEAR(y[i], wanted, 2e-6 + 2e-7 * std::abs(wanted)) << "at " << x[i];
  }
}

TEST(ProductsOfTiles, EqualTheirTwinsToTheBit) {
  const VectorKernels *tiles = nullptr, *twin = nullptr;
  for (const VectorKernels* level : all_levels()) {
    if (std::string(level->name) == "amx") tiles = level;
    if (std::string(level->name) == "amx_emulated") twin = level;
  }
#if defined(__x86_64__)
  ASSERT_NE(twin, nullptr);
#endif
  if (tiles == nullptr) GTEST_SKIP() << "SKIPPED: this processor has no AMX";
  for (const Arithmetic arithmetic : {Arithmetic::bf16, Arithmetic::int8}) {
    for (const Shape& shape : kShapes) {
      const std::vector<float> weight = random_numbers(shape.inputs * shape.outputs, 1, 1);
      const std::vector<float> bias = random_numbers(shape.outputs, 1, 2),
                               x = random_numbers(shape.inputs * shape.tokens, 1, 3);
      for (const auto output : {Product::Output::store, Product::Output::add, Product::Output::gelu}) {
        for (const std::vector<float>& added : {bias, std::vector<float>{}}) {
          EXPECT_EQ(multiply(*tiles, arithmetic, shape, weight, added, x, output).values,
                    multiply(*twin, arithmetic, shape, weight, added, x, output).values)
              << name_of(arithmetic) << " " << shape.inputs << " x " << shape.outputs;
        }
      }
    }
  }
}

// Eight-bit sums are whole numbers, and packing and scaling round each operation on its own: every instruction set
// gives the same.
TEST(ProductsOfBytes, AreTheSameBitsOnEveryLevel) {
  for (const Shape& shape : kShapes) {
    const std::vector<float> weight = random_numbers(shape.inputs * shape.outputs, 1, 1);
    const std::vector<float> bias = random_numbers(shape.outputs, 1, 2),
                             x = random_numbers(shape.inputs * shape.tokens, 1, 3);
    for (const auto output : {Product::Output::store, Product::Output::add}) {
      std::vector<float> first;
      for (const VectorKernels* level : all_levels()) {
        const auto found = multiply(*level, Arithmetic::int8, shape, weight, bias, x, output).values;
        if (first.empty()) first = found;
        EXPECT_EQ(found, first) << level->name << " " << shape.inputs << " x " << shape.outputs;
      }
    }
  }
}

TEST(Bf16, IsRoundedToNearestWithTiesToEven) {
  const std::pair<std::uint32_t, std::uint16_t> cases[] = {
      {0x3F808000, 0x3F80}, {0x3F818000, 0x3F82}, {0x3F808001, 0x3F81}, {0x3F807FFF, 0x3F80}, {0, 0},
      {0x80000000, 0x8000}, {0x7F7FFFFF, 0x7F80}, {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80}, {0x7F800001, 0x7FC0},
      {0x00000001, 0},      {0xBFC00000, 0xBFC0}};
  for (const auto& [bits, wanted] : cases) EXPECT_EQ(to_bf16(std::bit_cast<float>(bits)), wanted) << std::hex << bits;
}

}  // namespace
}  // namespace relucent::testing
