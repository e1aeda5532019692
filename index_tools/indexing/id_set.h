#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// Which ids were seen, as 128-bit fingerprints: 32 to 64 bytes an id however long it is. Two different ids share one
/// with a chance of about n²/2^129, which is none in practice.
class IdSet {
 public:
  /// False where the id was there already.
  bool insert(std::string_view id);
  std::size_t size() const noexcept { return size_; }

 private:
  struct Fingerprint {
    std::uint64_t first = 0, second = 0;  ///< both 0: a free place
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  };
  static Fingerprint fingerprint_of(std::string_view id) noexcept;
  Fingerprint& place_of(const Fingerprint& fingerprint) noexcept;
  void grow();

  std::vector<Fingerprint> places_ = std::vector<Fingerprint>(1024);  // a power of two
  std::size_t size_ = 0;
};

}  // namespace relucent::index_tools
