#include "index_tools/indexing/id_set.h"

#include <cstring>

namespace relucent::index_tools {
namespace {

// One round of 64 × 64 → 128 bits, folded: spreads every bit of both over the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash(std::string_view bytes, std::uint64_t seed) noexcept {
  constexpr std::uint64_t odd1 = 0x9E3779B97F4A7C15, odd2 = 0xD6E8FEB86659FD93;  // any odd numbers with mixed bits
  std::uint64_t state = seed ^ (bytes.size() * odd1);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + i, bytes.size() - i < 8 ? bytes.size() - i : 8);
    state = mix(state ^ odd1, eight ^ odd2) + odd1;
  }
  return mix(state ^ odd2, odd1);
}

}  // namespace

IdSet::Fingerprint IdSet::fingerprint_of(std::string_view id) noexcept {
  Fingerprint fingerprint{hash(id, 0x243F6A8885A308D3), hash(id, 0x13198A2E03707344)};  // digits of pi
  if (fingerprint == Fingerprint{}) fingerprint.second = 1;
  return fingerprint;
}

IdSet::Fingerprint& IdSet::place_of(const Fingerprint& fingerprint) noexcept {
  std::size_t i = fingerprint.first & (places_.size() - 1);
  while (places_[i] != Fingerprint{} && places_[i] != fingerprint) i = (i + 1) & (places_.size() - 1);
  return places_[i];
}

bool IdSet::insert(std::string_view id) {
  if (2 * (size_ + 1) > places_.size()) grow();
  const Fingerprint fingerprint = fingerprint_of(id);
  Fingerprint& place = place_of(fingerprint);
  if (place == fingerprint) return false;
  place = fingerprint;
  ++size_;
  return true;
}

void IdSet::grow() {
  std::vector<Fingerprint> old(places_.size() * 2);
  old.swap(places_);
  for (const Fingerprint& fingerprint : old) {
    if (fingerprint != Fingerprint{}) place_of(fingerprint) = fingerprint;
  }
}

}  // namespace relucent::index_tools
