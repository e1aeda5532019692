#include "plugin/lucene/bm25/ignored_boosts.h"

#include <Similarity.h>

#include <array>
#include <cmath>
#include <limits>

#include "plugin/index_format/length_byte.h"

namespace relucent::bm25 {
namespace {

/// The range of DefaultSimilarity's norms for the lengths that share one length byte.
struct Norms {
  std::uint8_t least = 0, most = 0;
};

std::uint8_t norm_of(std::int32_t length) {
  return Lucene::Similarity::encodeNorm(1.0 / std::sqrt(static_cast<double>(length)));
}

std::array<Norms, 256> norms_by_length() {
  std::array<Norms, 256> norms;
  for (std::size_t byte = 1; byte < norms.size(); ++byte) {
    const std::int32_t longest =
        byte == 255 ? std::numeric_limits<std::int32_t>::max() : byte_length(static_cast<std::uint8_t>(byte + 1)) - 1;
    norms[byte] = {norm_of(longest), norm_of(byte_length(static_cast<std::uint8_t>(byte)))};
  }
  return norms;
}

}  // namespace

bool norms_have_boosts(std::span<const std::uint8_t> norms, std::span<const std::uint8_t> lengths) {
  static const std::array<Norms, 256> expected = norms_by_length();
  for (std::size_t i = 0; i < norms.size() && i < lengths.size(); ++i) {
    const std::uint8_t length = lengths[i];
    if (length == 0) continue;         // no tokens: the norm is not used
    if (norms[i] == length) continue;  // a segment that IndexBuilder wrote
    if (norms[i] < expected[length].least || norms[i] > expected[length].most) return true;
  }
  return false;
}

}  // namespace relucent::bm25
