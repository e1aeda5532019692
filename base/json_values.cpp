#include "base/json_values.h"

namespace relucent {

std::optional<std::size_t> too_many_in_json(std::string_view text, std::size_t most) noexcept {
  if (text.size() < most) return std::nullopt;  // each is at least one byte
  constexpr std::string_view begins_value = "[{,:";
  std::size_t count = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (begins_value.find(text[i]) != std::string_view::npos && ++count > most) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace relucent
