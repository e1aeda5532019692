#include "relucent/kernels/encoder.h"

#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

namespace relucent {
namespace {

float widen_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float widen_bf16(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

}  // namespace

std::size_t TensorView::elements() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                         [](std::size_t product, std::int64_t n) { return product * static_cast<std::size_t>(n); });
}

std::vector<float> TensorView::to_f32() const {
  std::vector<float> values(elements());
  if (values.empty()) return values;
  if (type == DataType::f32) {
    std::memcpy(values.data(), data, values.size() * sizeof(float));
    return values;
  }
  const auto widen = type == DataType::f16 ? widen_f16 : widen_bf16;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, data + 2 * i, sizeof half);
    values[i] = widen(half);
  }
  return values;
}

}  // namespace relucent
