// Stands in for the CUDA toolkit's header of this name: fp16 storage and its conversions, rounded to nearest even.
#pragma once

#include <bit>
#include <cstdint>

#include "tests/cuda_emulator/include/cuda_runtime.h"

struct __half {
  std::uint16_t bits;
};
struct __align__(4) __half2 {
  __half x, y;
};
using half = __half;
using half2 = __half2;

inline float __half2float(__half value) {
  const std::uint32_t sign = std::uint32_t(value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  // Read as a float the exponent is too small by 127 - 15; the product is exact, also for subnormal numbers.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112F));
}

inline __half __float2half_rn(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result;
  if (magnitude > 0x7f800000u) {
    return {0x7fffu};  // the one NaN that CUDA gives
  } else if (magnitude >= 0x477ff000u) {
    result = 0x7c00u;  // 65520 and more round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below the smallest normal number halves are multiples of 2^-24; at 0.5 so are floats, and the sum is rounded.
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000u;
  } else {
    result = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | result)};
}

inline __half __float2half(float value) { return __float2half_rn(value); }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline float2 __half22float2(__half2 value) { return {__half2float(value.x), __half2float(value.y)}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
