#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "plugin/index_format/length_byte.h"

namespace relucent::bm25 {

// Modern Lucene's BM25Similarity (8.x and later, without the factor k1 + 1), in the same order of float
// operations. Compiled without fused multiply-add, so that scores have the same bits.

/// @param documents documents with at least one token in the field
inline float inverse_document_frequency(std::int64_t document_frequency, std::int64_t documents) {
  const auto n = static_cast<double>(document_frequency), all = static_cast<double>(documents);
  return static_cast<float>(std::log(1 + (all - n + 0.5) / (n + 0.5)));
}

/// 1 / (k1 · ((1 − b) + b · length / avgdl)) for every length byte.
inline std::array<float, 256> length_factors(float k1, float b, float average_length) {
  std::array<float, 256> factors;
  for (int byte = 0; byte < 256; ++byte) {
    const auto length = static_cast<float>(byte_length(static_cast<std::uint8_t>(byte)));
    factors[static_cast<std::size_t>(byte)] = 1.0F / (k1 * ((1.0F - b) + b * length / average_length));
  }
  return factors;
}

/// weight · tf / (tf + length part), written as Lucene computes it.
inline float contribution(float weight, float frequency, float length_factor) {
  return weight - weight / (1.0F + frequency * length_factor);
}

}  // namespace relucent::bm25
