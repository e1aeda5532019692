#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "relucent/export.h"

namespace relucent {

/// How the numbers of vectors are stored, little-endian; int8: a vector's numbers follow their scale, a float.
enum class EmbeddingNumbers { fp32, fp16, int8 };

RELUCENT_API std::string_view to_string(EmbeddingNumbers numbers) noexcept;
/// Throws Error `usage`.
RELUCENT_API EmbeddingNumbers embedding_numbers(std::string_view name);

/// The bytes of a vector of `size` numbers.
RELUCENT_API std::size_t stored_size(EmbeddingNumbers numbers, std::size_t size) noexcept;

/// Appends a vector. Throws Error `invalid_data` for numbers that are not finite or too large for fp16.
RELUCENT_API void store_vector(EmbeddingNumbers numbers, std::span<const float> vector, std::string& bytes);

/// The inverse, of [vectors][size] numbers, as exactly as the numbers allow; fp32 gives the same bits back. `bytes`
/// must have the size of all these vectors.
RELUCENT_API void load_vectors(EmbeddingNumbers numbers, std::size_t size, std::string_view bytes,
                               std::span<float> vectors) noexcept;

/// The vectors of a document's tokens as they are stored, see store_vector().
struct StoredVectors {
  EmbeddingNumbers numbers = EmbeddingNumbers::fp32;
  std::string_view bytes;
};

}  // namespace relucent
