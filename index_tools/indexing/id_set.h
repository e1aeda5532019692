#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// The ids seen so far, as 128-bit fingerprints: 32 to 64 bytes per id, however long it is. The probability that two of
/// n ids collide is about n²/2^129, which is negligible.
class IdSet {
 public:
  /// False if the set already contains the id.
  bool insert(std::string_view id);
  std::size_t size() const noexcept { return size_; }

 private:
  struct Fingerprint {
    std::uint64_t first = 0, second = 0;  ///< both 0: a free slot
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  };
  static Fingerprint fingerprint_of(std::string_view id) noexcept;
  Fingerprint& place_of(const Fingerprint& fingerprint) noexcept;
  void grow();

  std::vector<Fingerprint> places_ = std::vector<Fingerprint>(1024);  // a power of two
  std::size_t size_ = 0;
};

}  // namespace relucent::index_tools
