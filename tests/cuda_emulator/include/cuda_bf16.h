// Stands in for the CUDA toolkit's header of this name: bfloat16 storage and its conversions, rounded to nearest even.
#pragma once

#include <bit>
#include <cstdint>

#include "tests/cuda_emulator/include/cuda_runtime.h"

struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 value) { return std::bit_cast<float>(std::uint32_t(value.bits) << 16); }

inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {0x7fffu};  // the one NaN that CUDA gives
  }
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

inline __nv_bfloat16 __float2bfloat16(float value) { return __float2bfloat16_rn(value); }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 value) {
  return {__bfloat162float(value.x), __bfloat162float(value.y)};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
