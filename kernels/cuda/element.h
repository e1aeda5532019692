// The type of weights and activations on the device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace relucent::cuda {

enum class Element { f32, f16, bf16 };

inline std::size_t size_of(Element element) { return element == Element::f32 ? 4 : 2; }

/// Calls action(T{}) with the type that `element` names.
template <typename Action>
auto with_element(Element element, const Action& action) {
  if (element == Element::f16) return action(__half{});
  if (element == Element::bf16) return action(__nv_bfloat16{});
  return action(float{});
}

template <typename T>
__host__ __device__ inline float to_float(T value) {
  if constexpr (std::is_same_v<T, __half>) return __half2float(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __bfloat162float(value);
  if constexpr (std::is_same_v<T, float>) return value;
}

/// The nearest T, ties to even.
template <typename T>
__host__ __device__ inline T from_float(float value) {
  if constexpr (std::is_same_v<T, __half>) return __float2half_rn(value);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(value);
  if constexpr (std::is_same_v<T, float>) return value;
}

inline void to_floats(Element element, const std::byte* from, std::size_t count, float* to) {
  with_element(element, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, from + i * sizeof(T), sizeof(T));
      to[i] = to_float(value);
    }
  });
}

inline void from_floats(Element element, const float* from, std::size_t count, std::byte* to) {
  with_element(element, [&]<typename T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const T value = from_float<T>(from[i]);
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
  });
}

}  // namespace relucent::cuda
