// Which instruction sets are offered, what they compute in where nothing is asked for, and which give one another's
// bits.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kernels/cpu/automatic.h"
#include "kernels/cpu/known_product.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

using cpu::Arithmetic;
using cpu::Product;
using cpu::VectorKernels;

// ---- a product with a known result before a level is offered ----

class KnownProduct : public ::testing::TestWithParam<const VectorKernels*> {};
INSTANTIATE_TEST_SUITE_P(Levels, KnownProduct, ::testing::ValuesIn(all_levels()),
                         [](const auto& level) { return level.param->name; });

TEST_P(KnownProduct, IsExact) { EXPECT_TRUE(cpu::multiplies_exactly(*GetParam())); }

/// The plain level with a product that goes wrong in one arithmetic.
VectorKernels wrong_in(void (*product)(const Product&)) {
  VectorKernels kernels = cpu::plain::kKernels;
  kernels.native_bf16 = kernels.native_int8 = true;
  kernels.product = product;
  return kernels;
}

float& last_of(const Product& product) {
  return static_cast<float*>(product.out)[(product.features - 1) * product.feature_stride];
}

TEST(KnownProducts, ShowWhatAnInstructionGetsWrong) {
  constexpr auto right = [](const Product& product) { cpu::plain::kKernels.product(product); };
  EXPECT_TRUE(cpu::multiplies_exactly(wrong_in(right)));
  EXPECT_FALSE(cpu::multiplies_exactly(wrong_in([](const Product&) {}))) << "nothing is written";
  EXPECT_FALSE(cpu::multiplies_exactly(wrong_in([](const Product& product) {
    cpu::plain::kKernels.product(product);
    if (product.arithmetic == Arithmetic::fp32) last_of(product) = std::nanf("");
  })));
  EXPECT_FALSE(cpu::multiplies_exactly(wrong_in([](const Product& product) {
    cpu::plain::kKernels.product(product);
    if (product.arithmetic == Arithmetic::bf16) last_of(product) += 1;
  })));
  EXPECT_FALSE(cpu::multiplies_exactly(wrong_in([](const Product& product) {
    Product fewer = product;  // as with half of the tiles configured
    if (product.arithmetic == Arithmetic::int8) fewer.steps /= 2;
    cpu::plain::kKernels.product(fewer);
  })));
}

TEST(KnownProducts, ALevelThatIsWrongIsNotOffered) {
  const VectorKernels wrong = wrong_in([](const Product&) {});
  const VectorKernels *first = &cpu::plain::kKernels, *best = &cpu::plain::kKernels;
  const VectorKernels* const candidates[] = {first, &wrong, best};
  const cpu::VectorLevels found = cpu::levels_that_work(candidates, cpu::multiplies_exactly);
  ASSERT_EQ(found.count, 2U);
  EXPECT_EQ(found.levels[1], best);
  ASSERT_EQ(found.refused_count, 1U);
  EXPECT_EQ(found.refused[0], &wrong);
  const VectorKernels* const alone[] = {&wrong};
  EXPECT_EQ(cpu::levels_that_work(alone, cpu::multiplies_exactly).count, 1U) << "something must remain";
}

TEST(KnownProducts, NoLevelOfThisMachineIsRefused) {
  const cpu::VectorLevels found = cpu::available_vector_kernels();
  for (std::size_t i = 0; i < found.refused_count; ++i) ADD_FAILURE() << found.refused[i]->name;
  EXPECT_TRUE(cpu::best_vector_kernels().automatic);
}

TEST(BestLevel, HasTilesExceptForFp32) {
  VectorKernels tiles = cpu::plain::kKernels, emulated = tiles;
  tiles.layout = emulated.layout = cpu::WeightLayout::tiles;
  emulated.automatic = false;
  cpu::VectorLevels levels{{&cpu::plain::kKernels, &tiles, &emulated}, 3, {}, 0};
  EXPECT_EQ(&cpu::best_of(levels, false), &tiles);
  EXPECT_EQ(&cpu::best_of(levels, true), &cpu::plain::kKernels);
  levels = {{&tiles}, 1, {}, 0};
  EXPECT_EQ(&cpu::best_of(levels, true), &tiles) << "something must remain";
}

// ---- precision = "auto" ----

VectorKernels with_bf16() {
  VectorKernels kernels = cpu::plain::kKernels;
  kernels.native_bf16 = true;
  return kernels;
}

TEST(AutomaticPrecision, IsBf16WhereTheProcessorMultipliesItFaster) {
  using cpu::automatic_arithmetic, cpu::Bf16Rate;
  VectorKernels tiles = with_bf16();
  tiles.layout = cpu::WeightLayout::tiles;
  for (const bool normalized : {false, true}) {
    EXPECT_EQ(automatic_arithmetic(with_bf16(), normalized, Bf16Rate::halved), Arithmetic::fp32);
    EXPECT_EQ(automatic_arithmetic(with_bf16(), normalized, Bf16Rate::doubled), Arithmetic::bf16);
    EXPECT_EQ(automatic_arithmetic(tiles, normalized, Bf16Rate::halved), Arithmetic::bf16);
    EXPECT_EQ(automatic_arithmetic(cpu::plain::kKernels, normalized, Bf16Rate::doubled), Arithmetic::fp32);
  }
}

TEST(AutomaticPrecision, IsInt16WhereThatIsFasterAndTheEncoderSuitsIt) {
  using cpu::automatic_arithmetic, cpu::Bf16Rate;
  VectorKernels kernels = with_bf16();
  kernels.fast_int16 = true;
  EXPECT_EQ(automatic_arithmetic(kernels, true, Bf16Rate::halved), Arithmetic::int16);
  EXPECT_EQ(automatic_arithmetic(kernels, false, Bf16Rate::halved), Arithmetic::fp32);
  EXPECT_EQ(automatic_arithmetic(kernels, true, Bf16Rate::doubled), Arithmetic::bf16);
}

// Processes that store embeddings and processes that compare with them must agree.
TEST(AutomaticPrecision, DoesNotDependOnWhatElseTheMachineDoes) {
  VectorKernels kernels = with_bf16();
  kernels.spin = [](Arithmetic, std::size_t) -> double {
    ADD_FAILURE() << "measured";
    return 0;
  };
  const Arithmetic chosen = cpu::automatic_arithmetic(kernels, true);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cpu::automatic_arithmetic(kernels, true), chosen);
}

TEST(AutomaticPrecision, IsThatOfTheBackendAndOneThatIsNamedHolds) {
  const RandomModel model({});
  for (const VectorKernels* level : all_levels()) {
    const Arithmetic chosen = cpu::automatic_arithmetic(*level, true);
    const Precision wanted = chosen == Arithmetic::bf16    ? Precision::bf16
                             : chosen == Arithmetic::int16 ? Precision::int16
                                                           : Precision::fp32;
    EXPECT_EQ(model.on({Device::cpu(), Precision::automatic, 1, level->name})->info().precision, wanted) << level->name;
    for (const Precision named : {Precision::fp32, Precision::bf16, Precision::int16, Precision::int8}) {
      EXPECT_EQ(model.on({Device::cpu(), named, 1, level->name})->info().precision, named) << level->name;
    }
  }
}

// ---- one pattern of bits for levels that promise it (docs/architecture.md) ----

AttentionPattern sparse() {
  AttentionPattern pattern;
  pattern.query_cls = pattern.query_document = false;
  pattern.window = 4;
  return pattern;
}

/// What decides a level's bits: its lanes, and for bf16 the order in which instructions sum.
std::string kind_of(const VectorKernels& level, Precision precision) {
  std::string kind = std::to_string(level.lanes) + " lanes, " + to_string(precision);
  if (precision != Precision::bf16 || !level.native_bf16) return kind;
  return kind + (level.layout == cpu::WeightLayout::tiles ? ", tiles" : std::string(", ") + level.name);
}

TEST(LevelsOfEqualLanes, GiveTheSameLogitsToTheBit) {
  RandomModel model({.hidden = 96, .heads = 3, .intermediate = 160, .layers = 2}, sparse());
  const Pairs pairs = random_pairs(model, 6, {1, 17, 40, 90});
  std::map<std::string, std::vector<float>> known;
  bool compared = false;
  for (const VectorKernels* level : all_levels()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int16, Precision::int8}) {
      const std::vector<float> found = pairs.logits(*model.on({Device::cpu(), precision, 1, level->name}));
      const auto [first, is_new] = known.try_emplace(kind_of(*level, precision), found);
      compared = compared || !is_new;
      EXPECT_EQ(found, first->second) << level->name << ", " << first->first;
    }
  }
  if (!compared) GTEST_SKIP() << "SKIPPED: this processor has no two levels of as many lanes";
}

}  // namespace
}  // namespace relucent::testing
