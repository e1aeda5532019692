#include "base/keyed_hash.h"

#include <bit>
#include <random>

namespace relucent {
namespace {

void round(std::array<std::uint64_t, 4>& v) noexcept {
  v[0] += v[1];
  v[2] += v[3];
  v[1] = std::rotl(v[1], 13) ^ v[0];
  v[3] = std::rotl(v[3], 16) ^ v[2];
  v[0] = std::rotl(v[0], 32);
  v[2] += v[1];
  v[0] += v[3];
  v[1] = std::rotl(v[1], 17) ^ v[2];
  v[3] = std::rotl(v[3], 21) ^ v[0];
  v[2] = std::rotl(v[2], 32);
}

std::uint64_t little_endian(const char* bytes, std::size_t count) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) word |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return word;
}

std::uint64_t folded(const std::array<std::uint64_t, 4>& v) noexcept { return v[0] ^ v[1] ^ v[2] ^ v[3]; }

}  // namespace

KeyedHash::KeyedHash(const Key& key) noexcept
    : state_{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee, key[0] ^ 0x6c7967656e657261,
             key[1] ^ 0x7465646279746573} {}

KeyedHash::Key KeyedHash::random_key() {
  std::random_device random;
  const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

void KeyedHash::mix(std::uint64_t word) noexcept {
  state_[3] ^= word;
  round(state_);
  round(state_);
  state_[0] ^= word;
}

void KeyedHash::add(std::string_view bytes) noexcept {
  const std::size_t before = size_ % 8;
  size_ += bytes.size();
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  if (before != 0) {
    const std::size_t missing = 8 - before;
    const std::size_t taken = left < missing ? left : missing;
    tail_ |= little_endian(at, taken) << (8 * before);
    if (taken < missing) return;
    mix(tail_);
    tail_ = 0;
    at += taken;
    left -= taken;
  }
  for (; left >= 8; at += 8, left -= 8) mix(little_endian(at, 8));
  tail_ = little_endian(at, left);
}

void KeyedHash::add_field(std::string_view bytes) noexcept {
  char size[8];
  for (std::size_t i = 0; i < sizeof size; ++i) size[i] = static_cast<char>(std::uint64_t{bytes.size()} >> (8 * i));
  add({size, sizeof size});
  add(bytes);
}

Hash128 KeyedHash::value() const noexcept {
  KeyedHash last = *this;
  last.mix(tail_ | size_ << 56);
  last.state_[2] ^= 0xee;
  for (int i = 0; i < 4; ++i) round(last.state_);
  Hash128 hash;
  hash.first = folded(last.state_);
  last.state_[1] ^= 0xdd;
  for (int i = 0; i < 4; ++i) round(last.state_);
  hash.second = folded(last.state_);
  return hash;
}

}  // namespace relucent
