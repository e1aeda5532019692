#include "kernels/cpu/packed_linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "base/half.h"

namespace relucent::cpu {

PackedLinear::PackedLinear(Arithmetic arithmetic, WeightLayout layout, const std::vector<float>& weight,
                           std::vector<float> bias, std::size_t inputs)
    : arithmetic_(arithmetic), bias_(std::move(bias)), biased_(!bias_.empty()) {
  const std::size_t outputs = weight.size() / inputs, together = inputs_together(arithmetic);
  features_ = padded(outputs);
  steps_ = padded(inputs) / together;
  bias_.resize(features_);
  if (is_scaled(arithmetic)) {
    const float largest = arithmetic == Arithmetic::int16 ? kInt16Most : 127;
    scales_.assign(features_, 0);
    if (arithmetic == Arithmetic::int8) corrections_.assign(features_, 0);
    for (std::size_t out = 0; out < outputs; ++out) {
      float most = 0;
      for (std::size_t in = 0; in < inputs; ++in) most = std::max(most, std::abs(weight[out * inputs + in]));
      scales_[out] = most / largest;
    }
  }
  constexpr std::size_t block = kFeatureBlock;
  const bool tiles = layout == WeightLayout::tiles && has_layout(arithmetic);
  const std::size_t wide = steps_side_by_side(layout, arithmetic);
  block_units_ = (tiles ? (steps_ + block - 1) / block * block : steps_) * block;
  const auto place = [&](std::size_t out, std::size_t step) {
    const std::size_t row = out % block, start = out / block * block_units_;
    if (tiles) return start + step / block * block * block + row * block + step % block;
    return start + step / wide * wide * block + row * wide + step % wide;
  };
  units_.grow(features_ / block * block_units_);
  // unit(w, out): that of these weights, of which there are `together`, or fewer in the last step.
  const auto pack = [&](const auto& unit) {
    for (std::size_t first = 0; first < outputs; first += block) {
      for (std::size_t step = 0; step < steps_; ++step) {
        const std::size_t in = std::min(step * together, inputs), count = std::min(together, inputs - in);
        for (std::size_t out = first; out < std::min(first + block, outputs); ++out) {
          units_.data()[place(out, step)] = unit(std::span(weight).subspan(out * inputs + in, count), out);
        }
      }
    }
  };
  // A weight as a multiple of its feature's scale.
  const auto scaled = [&](float value, std::size_t out, std::int32_t most) {
    const float multiple = scales_[out] > 0 ? std::nearbyint(value / scales_[out]) : 0;
    return std::clamp(static_cast<std::int32_t>(multiple), -most, most);
  };
  using Weights = std::span<const float>;
  switch (arithmetic) {
    case Arithmetic::fp32:
      pack([](Weights w, std::size_t) { return w.empty() ? 0 : std::bit_cast<std::uint32_t>(w[0]); });
      break;
    case Arithmetic::bf16_emulated:
      pack([](Weights w, std::size_t) {
        return w.empty() ? 0 : std::bit_cast<std::uint32_t>(from_bf16(to_bf16(w[0])));
      });
      break;
    case Arithmetic::bf16:
      pack([](Weights w, std::size_t) {
        std::uint32_t unit = 0;
        for (std::size_t i = 0; i < w.size(); ++i) unit |= static_cast<std::uint32_t>(to_bf16(w[i])) << (16 * i);
        return unit;
      });
      break;
    case Arithmetic::int16:
      pack([&](Weights w, std::size_t out) {
        std::uint32_t unit = 0;
        for (std::size_t i = 0; i < w.size(); ++i) {
          unit |= static_cast<std::uint32_t>(scaled(w[i], out, kInt16Most) & 0xFFFF) << (16 * i);
        }
        return unit;
      });
      break;
    case Arithmetic::int8:
      pack([&](Weights w, std::size_t out) {
        std::uint32_t unit = 0;
        for (std::size_t i = 0; i < w.size(); ++i) {
          const std::int32_t byte = scaled(w[i], out, 127);
          corrections_[out] -= 128 * byte;
          unit |= static_cast<std::uint32_t>(byte & 255) << (8 * i);
        }
        return unit;
      });
      break;
  }
}

Product PackedLinear::product(std::size_t first, std::size_t count) const {
  Product product;
  product.arithmetic = arithmetic_;
  product.weights = units_.data() + first / kFeatureBlock * block_units_;
  product.bias = bias_.data() + first;
  product.biased = biased_;
  if (is_scaled(arithmetic_)) product.weight_scales = scales_.data() + first;
  if (arithmetic_ == Arithmetic::int8) product.corrections = corrections_.data() + first;
  product.features = count;
  product.steps = steps_;
  return product;
}

}  // namespace relucent::cpu
