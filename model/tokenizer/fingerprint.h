#pragma once

#include <cstdint>
#include <string_view>

namespace relucent {

/// FNV-1a, 64 bits, of texts in order. Different lists of texts differ.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view text);
  std::uint64_t value() const noexcept { return hash_ != 0 ? hash_ : 1; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace relucent
