#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// Encodes values as the bytes of a tensor of `type`, rounded to nearest even. Throws Error `invalid_data` naming
/// `place` and the element if a finite value is out of the type's range; `first` is the number of the first element.
std::vector<std::byte> encode_values(std::span<const float> values, DataType type, const std::string& place,
                                     std::size_t first = 0);

}  // namespace relucent
