#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent::index_tools {

/// Decodes `bytes` to UTF-8 like Python's `bytes.decode(charset, errors="ignore")`, with Python's charset names: bytes
/// that are not valid in the charset are dropped. Returns nothing for an unknown charset. Charsets that are rare on web
/// pages (ISO 2022, HZ, UTF-7, JIS X 0213, HKSCS) are decoded by ICU; EBCDIC and Johab are unknown.
std::optional<std::string> decode_charset(std::string_view bytes, std::string_view charset);

}  // namespace relucent::index_tools
