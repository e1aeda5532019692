// RoPE's angles.
#pragma once

#include <cmath>
#include <cstddef>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// The angle by which each position turns the pair (i, i + head_size / 2) further.
inline double turn_of(const PositionScheme& positions, std::size_t i, std::size_t head_size) {
  return positions.rate * std::pow(positions.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_size));
}

}  // namespace relucent
