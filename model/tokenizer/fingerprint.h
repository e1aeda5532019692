#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

namespace relucent {

/// FNV-1a, 64 bits, of texts in order. Different lists of texts differ.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view text) {
    mix(fmt::format("{}:", text.size()));
    mix(text);
    return *this;
  }
  std::uint64_t value() const noexcept { return hash_ != 0 ? hash_ : 1; }

 private:
  void mix(std::string_view bytes) {
    for (const char byte : bytes) hash_ = (hash_ ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3;
  }

  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace relucent
