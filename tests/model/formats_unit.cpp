// Safetensors, half precision and UTF-8, each against values worked out by hand or by the format's own text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "model/formats/safetensors.h"
#include "relucent/error.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

TEST(Safetensors, ViewsHoldTheFilesValues) {
  const TemporaryFolder folder;
  const float values[] = {1.5F, -2.0F, 0.0F, 1e-40F, 3e38F, -0.25F};
  const std::uint16_t halves[] = {0x3C00, 0xC000, 0x0001};  // 1, -2, 2^-24
  const std::uint16_t brains[] = {0x3F80, 0xC000, 0x7F00};  // 1, -2, 2^127
  const auto bytes = [](const auto& array) { return std::string(reinterpret_cast<const char*>(array), sizeof array); };
  write_file(folder / "a.safetensors", safetensors_bytes({{"x", {"F32", {2, 3}, bytes(values)}},
                                                          {"half", {"F16", {3}, bytes(halves)}},
                                                          {"brain", {"BF16", {3}, bytes(brains)}},
                                                          {"ids", {"I64", {1, 1}, std::string(8, '\1')}},
                                                          {"nothing", {"F32", {0, 7}, ""}},
                                                          {"scalar", {"F32", {}, bytes(values).substr(0, 4)}}}));
  const auto file = SafetensorsFile::open(folder / "a.safetensors");
  EXPECT_EQ(file.entries().size(), 6U);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const TensorView x = file.view(*file.find("x"));
  EXPECT_EQ(x.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(x.to_f32(), std::vector<float>(values, values + 6));
  EXPECT_EQ(file.view(*file.find("half")).to_f32(), (std::vector<float>{1, -2, 0x1p-24F}));
  EXPECT_EQ(file.view(*file.find("brain")).to_f32(), (std::vector<float>{1, -2, 0x1p127F}));
  EXPECT_TRUE(file.view(*file.find("nothing")).to_f32().empty());
  EXPECT_EQ(file.view(*file.find("scalar")).to_f32(), std::vector<float>{1.5F});
  EXPECT_EQ(file.find("y"), nullptr);
  EXPECT_THROW(file.view(*file.find("ids")), Error);
}

TEST(Safetensors, AnEmptyFileOfTensorsIsValid) {
  const TemporaryFolder folder;
  write_file(folder / "a.safetensors", safetensors_bytes({}));
  EXPECT_TRUE(SafetensorsFile::open(folder / "a.safetensors").entries().empty());
}

float widen(DataType type, std::uint16_t half) {
  return TensorView{type, {1}, reinterpret_cast<const std::byte*>(&half)}.to_f32()[0];
}

/// Every value between two neighbours of the narrow type goes to the nearer one, the middle to the even one.
void check_every_interval(DataType type, std::uint16_t (*narrow)(float), std::uint16_t greatest) {
  for (std::uint16_t half = 0; half < greatest; ++half) {
    const float low = widen(type, half), high = widen(type, static_cast<std::uint16_t>(half + 1));
    const float middle = low + (high - low) / 2;
    const std::uint16_t even = half % 2 == 0 ? half : static_cast<std::uint16_t>(half + 1);
    ASSERT_EQ(narrow(low), half);
    ASSERT_EQ(narrow(-low), half | 0x8000);
    ASSERT_EQ(narrow(middle), even) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0F)), half) << low;
    ASSERT_EQ(narrow(std::nextafter(middle, high)), half + 1) << low;
  }
}

TEST(Narrow, F16RoundsToNearestEvenEverywhere) {
  check_every_interval(DataType::f16, to_f16, 0x7BFF);
  EXPECT_EQ(to_f16(65519.996F), 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_TRUE(std::isnan(widen(DataType::f16, to_f16(NAN))));
}

TEST(Narrow, Bf16RoundsToNearestEvenEverywhere) {
  check_every_interval(DataType::bf16, to_bf16, 0x7F7F);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(widen(DataType::bf16, to_bf16(NAN))));
}

}  // namespace
}  // namespace relucent::testing
