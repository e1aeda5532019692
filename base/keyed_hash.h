#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace relucent {

/// 128 bits of a hash.
struct Hash128 {
  std::uint64_t first = 0, second = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), piece by piece. Without the key, nobody can
/// find two texts with the same hash. A copy continues where the original was.
class KeyedHash {
 public:
  using Key = std::array<std::uint64_t, 2>;  ///< as two little-endian numbers

  explicit KeyedHash(const Key& key) noexcept;
  /// A key of the system's random numbers.
  static Key random_key();

  void add(std::string_view bytes) noexcept;
  /// Adds the size first, so that fields of different lengths cannot give the same bytes.
  void add_field(std::string_view bytes) noexcept;
  Hash128 value() const noexcept;

 private:
  void mix(std::uint64_t word) noexcept;

  std::array<std::uint64_t, 4> state_;
  std::uint64_t tail_ = 0;  ///< the last bytes, fewer than eight
  std::uint64_t size_ = 0;
};

}  // namespace relucent
