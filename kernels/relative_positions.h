// Relative positions: T5's and DeBERTa's buckets of distances, and RoPE's angles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// T5's bucket of a distance, the key's position less the token's. The first half of each direction's buckets hold one
/// distance each; in the others the distances grow by a constant factor up to max_distance. In fp32, as T5 was trained.
inline std::size_t bucket_of(std::int32_t distance, const PositionScheme& positions) {
  const std::int32_t each = positions.buckets / 2, exact = each / 2, way = std::abs(distance);
  std::int32_t bucket = way;
  if (way >= exact) {
    const auto share = std::log(static_cast<float>(way) / static_cast<float>(exact)) /
                       static_cast<float>(std::log(static_cast<double>(positions.max_distance) / exact));
    bucket = std::min(each - 1, exact + static_cast<std::int32_t>(share * static_cast<float>(each - exact)));
  }
  return static_cast<std::size_t>(bucket + (distance > 0 ? each : 0));
}

/// DeBERTa's row of the table of relative positions for a distance, the token's position less the key's. It grows with
/// the distance; 0 has the middle row. In fp32, as DeBERTa was trained.
inline std::size_t relative_row(std::int32_t distance, const PositionScheme& positions) {
  const std::int32_t each = positions.buckets / 2, exact = each / 2, way = std::abs(distance);
  std::int32_t step = distance;
  if (positions.max_distance > 0 && way > exact) {
    const float share = std::log(static_cast<float>(way) / static_cast<float>(exact)) /
                        std::log(static_cast<float>(positions.max_distance - 1) / static_cast<float>(exact));
    const float beyond = std::ceil(std::min(share, 2.0F) * static_cast<float>(exact - 1));
    step = (exact + static_cast<std::int32_t>(beyond)) * (distance < 0 ? -1 : 1);
  }
  return static_cast<std::size_t>(std::clamp(step + each, 0, 2 * each - 1));
}

/// DeBERTa's table of relative positions after its norm, [buckets, hidden].
std::vector<float> relative_states(const EncoderDescription& description, const EncoderWeights& weights);

/// The angle by which each position turns RoPE's pair (i, i + head_size / 2) further.
inline double turn_of(const PositionScheme& positions, std::size_t i, std::size_t head_size) {
  return positions.rate * std::pow(positions.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_size));
}

}  // namespace relucent
