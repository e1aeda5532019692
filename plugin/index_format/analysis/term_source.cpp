#include "plugin/index_format/analysis/term_source.h"

#include <cstring>

namespace relucent::analysis {
namespace {

/// Folds the 128-bit product, which spreads every bit of both factors over the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t hash_of(std::string_view text) noexcept {
  constexpr std::uint64_t odd1 = 0x9E3779B97F4A7C15, odd2 = 0xD6E8FEB86659FD93;  // arbitrary odd numbers
  std::uint64_t state = text.size() * odd1;
  const char* next = text.data();
  std::size_t left = text.size();
  for (; left >= 8; next += 8, left -= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, next, 8);
    state = mix(state ^ odd1, eight ^ odd2);
  }
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < left; ++i) rest = rest << 8 | static_cast<unsigned char>(next[i]);
  return mix(state ^ odd1, rest ^ odd2);
}

}  // namespace relucent::analysis
