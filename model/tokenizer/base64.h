#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent {

/// The bytes of a text in base64 (RFC 4648, with padding); nullopt if it is malformed.
std::optional<std::string> decode_base64(std::string_view text);

std::string encode_base64(std::string_view bytes);

}  // namespace relucent
