// Elements of device memory, 16 bytes at a time, and sums over a warp. Device code only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/element.h"

namespace relucent::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffU;

/// Elements of T in 16 bytes.
template <typename T>
inline constexpr int kPack = 16 / static_cast<int>(sizeof(T));

/// Two elements rounded to T in one word, `low` at the lower address. T: __half or __nv_bfloat16.
template <typename T>
__device__ __forceinline__ std::uint32_t pair(float low, float high) {
  std::uint32_t word;
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 both = __floats2half2_rn(low, high);
    std::memcpy(&word, &both, sizeof word);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    std::memcpy(&word, &both, sizeof word);
  }
  return word;
}

template <typename T>
__device__ __forceinline__ float2 unpair(std::uint32_t word) {
  if constexpr (std::is_same_v<T, __half>) {
    __half2 both;
    std::memcpy(&both, &word, sizeof word);
    return __half22float2(both);
  } else {
    __nv_bfloat162 both;
    std::memcpy(&both, &word, sizeof word);
    return __bfloat1622float2(both);
  }
}

/// 16 bytes, aligned to 16 bytes, as they are; zeros if not `valid`, which reads nothing.
template <typename T>
__device__ __forceinline__ uint4 load_pack(const T* from, bool valid) {
  return valid ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
}

/// Loads 16 bytes, aligned to 16 bytes, as floats.
template <typename T>
__device__ __forceinline__ void load(const T* from, float (&to)[kPack<T>]) {
  if constexpr (std::is_same_v<T, float>) {
    const float4 raw = *reinterpret_cast<const float4*>(from);
    to[0] = raw.x, to[1] = raw.y, to[2] = raw.z, to[3] = raw.w;
  } else {
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 both = unpair<T>(words[i]);
      to[2 * i] = both.x, to[2 * i + 1] = both.y;
    }
  }
}

template <typename T>
__device__ __forceinline__ void store(T* to, const float (&from)[kPack<T>]) {
  if constexpr (std::is_same_v<T, float>) {
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
  } else {
    *reinterpret_cast<uint4*>(to) = make_uint4(pair<T>(from[0], from[1]), pair<T>(from[2], from[3]),
                                               pair<T>(from[4], from[5]), pair<T>(from[6], from[7]));
  }
}

/// The same of 4 elements: 16 bytes of floats, 8 of others.
template <typename T>
__device__ __forceinline__ void load_four(const T* from, float (&to)[4]) {
  if constexpr (std::is_same_v<T, float>) {
    load(from, to);
  } else {
    const uint2 raw = *reinterpret_cast<const uint2*>(from);
    const float2 low = unpair<T>(raw.x), high = unpair<T>(raw.y);
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
  }
}

template <typename T>
__device__ __forceinline__ void store_four(T* to, const float (&from)[4]) {
  if constexpr (std::is_same_v<T, float>) {
    store(to, from);
  } else {
    *reinterpret_cast<uint2*>(to) = make_uint2(pair<T>(from[0], from[1]), pair<T>(from[2], from[3]));
  }
}

/// The same sum in every lane, always added in the same order.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kWholeWarp, value, distance);
  return value;
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, distance));
  return value;
}

}  // namespace relucent::cuda
