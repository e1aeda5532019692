#include "model/tokenizer/fingerprint.h"

#include <fmt/core.h>

namespace relucent {

Fingerprint& Fingerprint::add(std::string_view text) {
  const auto mix = [this](std::string_view bytes) {
    for (const char byte : bytes) hash_ = (hash_ ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3;
  };
  mix(fmt::format("{}:", text.size()));
  mix(text);
  return *this;
}

}  // namespace relucent
