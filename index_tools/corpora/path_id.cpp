#include "index_tools/corpora/path_id.h"

#include <algorithm>

#include "base/utf8.h"

namespace relucent::index_tools {

std::string id_of_path(std::string_view path) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string id;
  while (!path.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence_length(path), 1);
    const std::string_view character = path.substr(0, length);
    path.remove_prefix(length);
    const auto byte = static_cast<unsigned char>(character.front());
    const bool kept = length > 1 || (byte > ' ' && byte < 0x7F && byte != '%');
    if (kept) {
      id += character;
    } else {
      id += '%';
      id += digits[byte >> 4];
      id += digits[byte & 0xF];
    }
  }
  return id;
}

}  // namespace relucent::index_tools
