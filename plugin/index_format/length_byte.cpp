#include "plugin/index_format/length_byte.h"

#include <algorithm>
#include <bit>

namespace relucent::bm25 {
namespace {

// A tiny float: values below 8 are their own codes; a larger value has the three bits after its leading one in the low
// bits and an exponent in the high bits.
constexpr std::int32_t encode(std::uint32_t value) {
  const int bits = std::bit_width(value);
  if (bits < 4) return static_cast<std::int32_t>(value);
  const int shift = bits - 4;
  return static_cast<std::int32_t>(((value >> shift) & 7U) | (static_cast<std::uint32_t>(shift + 1) << 3));
}

constexpr std::int32_t decode(std::uint32_t code) {
  const std::uint32_t mantissa = code & 7U, exponent = code >> 3;
  return static_cast<std::int32_t>(exponent == 0 ? mantissa : (mantissa | 8U) << (exponent - 1));
}

// The codes above the one of the largest int are free, so the first kExact lengths have codes of their own.
constexpr std::int32_t kExact = 255 - encode(0x7FFFFFFF);
static_assert(kExact == 24);

}  // namespace

std::uint8_t length_byte(std::int32_t length) noexcept {
  length = std::max(length, 0);
  if (length < kExact) return static_cast<std::uint8_t>(length);
  return static_cast<std::uint8_t>(kExact + encode(static_cast<std::uint32_t>(length - kExact)));
}

std::int32_t byte_length(std::uint8_t byte) noexcept {
  return byte < kExact ? byte : kExact + decode(static_cast<std::uint32_t>(byte - kExact));
}

}  // namespace relucent::bm25
