#pragma once

#include <string_view>
#include <utility>

namespace relucent::fuzz {

/// The first line of an input, which selects what reads the rest, and the rest.
inline std::pair<std::string_view, std::string_view> at_first_line(std::string_view input) {
  const std::size_t end = input.find('\n');
  return {input.substr(0, end), end == input.npos ? std::string_view() : input.substr(end + 1)};
}

/// The parts of an input before and after its first NUL byte.
inline std::pair<std::string_view, std::string_view> at_first_nul(std::string_view input) {
  const std::size_t end = input.find('\0');
  return {input.substr(0, end), end == input.npos ? std::string_view() : input.substr(end + 1)};
}

}  // namespace relucent::fuzz
