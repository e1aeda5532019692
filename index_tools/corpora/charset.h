#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent::index_tools {

/// `bytes` in UTF-8, decoded as Python's `bytes.decode(charset, errors="ignore")` does, under Python's names:
/// what is no character in the charset is dropped. Nothing where the charset is unknown. Charsets that hardly
/// occur on web pages (ISO 2022, HZ, UTF-7, JIS X 0213, HKSCS) are decoded as ICU does; EBCDIC and Johab are
/// unknown.
std::optional<std::string> decode_charset(std::string_view bytes, std::string_view charset);

}  // namespace relucent::index_tools
