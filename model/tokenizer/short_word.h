#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace relucent {

/// A word of 1 to 16 nonzero bytes in two registers, padded with zeros; the first byte is the lowest.
struct ShortWord {
  static constexpr std::size_t kMaxBytes = 16;

  std::uint64_t low = 0, high = 0;

  friend bool operator==(const ShortWord&, const ShortWord&) = default;

  /// The first `size` of the `kMaxBytes` bytes that must be readable at `bytes`.
  static ShortWord of(const char* bytes, std::size_t size) noexcept {
    return first(load(bytes), load(bytes + 8), size);
  }

  /// Sets `size` to the number of ASCII letters and digits at the start of the `kMaxBytes` readable bytes at `bytes`,
  /// and returns them lower-cased.
  static ShortWord lower_cased(const char* bytes, std::size_t& size) noexcept {
    const std::uint64_t low = load(bytes), high = load(bytes + 8);
    size = leading_letters(low);
    if (size == 8) size += leading_letters(high);
    // Digits already have the lower-case bit.
    return first(low | each(0x20), high | each(0x20), size);
  }

  std::array<char, kMaxBytes> bytes() const noexcept {
    std::array<char, kMaxBytes> result;
    const std::uint64_t parts[] = {little_endian(low), little_endian(high)};
    std::memcpy(result.data(), parts, sizeof parts);
    return result;
  }

  std::uint64_t hash() const noexcept {
    const std::uint64_t mixed = (low ^ high * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
    return (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15U;
  }

 private:
  static constexpr std::uint64_t each(std::uint8_t byte) { return byte * 0x0101010101010101U; }

  static std::uint64_t little_endian(std::uint64_t value) noexcept {
    return std::endian::native == std::endian::big ? __builtin_bswap64(value) : value;
  }
  static std::uint64_t load(const char* bytes) noexcept {
    std::uint64_t value;
    std::memcpy(&value, bytes, sizeof value);
    return little_endian(value);
  }

  static ShortWord first(std::uint64_t low, std::uint64_t high, std::size_t size) noexcept {
    // Without branches: word sizes are unpredictable.
    const auto bytes = [](std::size_t count) { return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - 8 * count); };
    return {low & bytes(std::min<std::size_t>(size, 8)), high & bytes(size - std::min<std::size_t>(size, 8))};
  }

  /// The number of letters and digits among the eight bytes, lowest first, before the first other byte.
  static std::size_t leading_letters(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t top = each(0x80);
    const std::uint64_t plain = bytes & ~top, lower = plain | each(0x20);
    // A sum's top bit tells whether the byte is at least, or above, the limit.
    const std::uint64_t letters = (lower + each(0x80 - 'a')) & ~(lower + each(0x7F - 'z'));
    const std::uint64_t digits = (plain + each(0x80 - '0')) & ~(plain + each(0x7F - '9'));
    const std::uint64_t others = ~((letters | digits) & ~bytes) & top;
    return static_cast<std::size_t>(std::countr_zero(others)) / 8;
  }
};

}  // namespace relucent
