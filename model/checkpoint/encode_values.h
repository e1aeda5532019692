#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// Values as the bytes of a tensor of `type`, rounded to nearest even. Throws Error `invalid_data` with the
/// place `place` where a finite value is too great for the type.
std::vector<std::byte> encode_values(std::span<const float> values, DataType type, const std::string& place);

}  // namespace relucent
