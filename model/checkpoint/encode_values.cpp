#include "model/checkpoint/encode_values.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"

namespace relucent {

std::vector<std::byte> encode_values(std::span<const float> values, DataType type, const std::string& place,
                                     std::size_t first) {
  if (type == DataType::f32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  const bool is_f16 = type == DataType::f16;
  const std::uint16_t infinity = is_f16 ? 0x7C00 : 0x7F80;
  std::vector<std::byte> bytes(values.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = is_f16 ? to_f16(values[i]) : to_bf16(values[i]);
    if ((half & 0x7FFF) == infinity && std::isfinite(values[i])) {
      throw Error(ErrorKind::invalid_data, place,
                  fmt::format("element {} is {:f}, out of range for {}", first + i, values[i], to_string(type)),
                  is_f16 ? "convert to bf16 or f32 instead" : "convert to f32 instead");
    }
    std::memcpy(bytes.data() + i * sizeof half, &half, sizeof half);
  }
  return bytes;
}

}  // namespace relucent
