#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// Encodes values as the bytes of a tensor of `type`, rounded to nearest even. Throws Error `invalid_data` naming
/// `place` if a finite value is out of the type's range.
std::vector<std::byte> encode_values(std::span<const float> values, DataType type, const std::string& place);

}  // namespace relucent
