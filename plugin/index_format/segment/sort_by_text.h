#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace relucent::segment {

/// The numbers below `count` in order of text_of(number), compared by bytes; equal texts in order of their numbers.
template <typename TextOf>
std::vector<std::uint32_t> sorted_by_text(std::uint32_t count, TextOf&& text_of) {
  struct Key {
    std::uint64_t head;  // the first eight bytes, the first one highest; decides most comparisons
    std::uint32_t number;
  };
  std::vector<Key> keys(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string_view text = text_of(i);
    std::uint64_t head = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      head = head << 8 | (k < text.size() ? static_cast<unsigned char>(text[k]) : 0);
    }
    keys[i] = {head, i};
  }
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.head != b.head) return a.head < b.head;
    const int order = std::string_view(text_of(a.number)).compare(text_of(b.number));
    return order != 0 ? order < 0 : a.number < b.number;
  });
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t i = 0; i < count; ++i) numbers[i] = keys[i].number;
  return numbers;
}

}  // namespace relucent::segment
