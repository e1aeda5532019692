// The type of weights and activations on the device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>

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

}  // namespace relucent::cuda
