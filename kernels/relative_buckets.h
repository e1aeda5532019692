// T5's relative positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// The bucket of a distance, the key's position less the token's. The first half of each direction's buckets hold one
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

}  // namespace relucent
