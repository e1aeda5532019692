#pragma once

#include <array>
#include <cstdint>

namespace relucent::bm25 {

/// Modern Lucene's one-byte document length (SmallFloat.intToByte4): exact up to 39 tokens, then a float with
/// four significant bits, rounded down. Negative lengths count as 0.
std::uint8_t length_byte(std::int32_t length) noexcept;
/// The length that a byte stands for.
std::int32_t byte_length(std::uint8_t byte) noexcept;

}  // namespace relucent::bm25
