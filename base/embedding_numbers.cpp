#include "relucent/embedding_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr EmbeddingNumbers kAll[] = {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8};
constexpr float kLargestInt8 = 127;

template <typename Number>
void append(std::string& bytes, Number value) {
  static_assert(std::endian::native == std::endian::little);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The nearest float of every finite f16. from_f16() without branches, so that the compiler can vectorize it.
float widened(std::uint16_t half) noexcept {
  const float magnitude = std::bit_cast<float>(static_cast<std::uint32_t>(half & 0x7FFFU) << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | static_cast<std::uint32_t>(half & 0x8000U)
                                                                            << 16);
}

}  // namespace

std::string_view to_string(EmbeddingNumbers numbers) noexcept {
  switch (numbers) {
    case EmbeddingNumbers::fp32: return "fp32";
    case EmbeddingNumbers::fp16: return "fp16";
    case EmbeddingNumbers::int8: break;
  }
  return "int8";
}

EmbeddingNumbers embedding_numbers(std::string_view name) {
  for (const EmbeddingNumbers numbers : kAll) {
    if (to_string(numbers) == name) return numbers;
  }
  throw Error(ErrorKind::usage, name, "embeddings cannot be stored in this precision", "use fp32, fp16 or int8");
}

std::size_t stored_size(EmbeddingNumbers numbers, std::size_t size) noexcept {
  switch (numbers) {
    case EmbeddingNumbers::fp32: return 4 * size;
    case EmbeddingNumbers::fp16: return 2 * size;
    case EmbeddingNumbers::int8: break;
  }
  return size + sizeof(float);
}

void store_vector(EmbeddingNumbers numbers, std::span<const float> vector, std::string& bytes) {
  const auto fits = [&](float value) {
    constexpr float too_large_for_fp16 = 65520;
    return std::isfinite(value) && (numbers != EmbeddingNumbers::fp16 || std::fabs(value) < too_large_for_fp16);
  };
  if (!std::all_of(vector.begin(), vector.end(), fits)) {
    throw Error(ErrorKind::invalid_data, "embeddings", "a number is not finite, or too large for fp16",
                "run `relucent model check`, or store them as fp32");
  }
  switch (numbers) {
    case EmbeddingNumbers::fp32:
      for (const float value : vector) append(bytes, value);
      return;
    case EmbeddingNumbers::fp16:
      for (const float value : vector) append(bytes, to_f16(value));
      return;
    case EmbeddingNumbers::int8:
      float largest = 0;
      for (const float value : vector) largest = std::max(largest, std::fabs(value));
      const float scale = largest / kLargestInt8;
      append(bytes, scale);
      for (const float value : vector) {
        const float steps = scale > 0 ? std::nearbyint(value / scale) : 0;
        append(bytes, static_cast<std::int8_t>(std::clamp(steps, -kLargestInt8, kLargestInt8)));
      }
  }
}

void load_vectors(EmbeddingNumbers numbers, std::size_t size, std::string_view bytes,
                  std::span<float> vectors) noexcept {
  switch (numbers) {
    case EmbeddingNumbers::fp32: std::memcpy(vectors.data(), bytes.data(), bytes.size()); return;
    case EmbeddingNumbers::fp16:
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        std::uint16_t half;
        std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
        vectors[i] = widened(half);
      }
      return;
    case EmbeddingNumbers::int8:
      for (std::size_t at = 0; at < vectors.size(); at += size) {
        float scale;
        std::memcpy(&scale, bytes.data(), sizeof scale);
        for (std::size_t i = 0; i < size; ++i) {
          vectors[at + i] = scale * static_cast<float>(static_cast<std::int8_t>(bytes[sizeof scale + i]));
        }
        bytes.remove_prefix(sizeof scale + size);
      }
  }
}

}  // namespace relucent
