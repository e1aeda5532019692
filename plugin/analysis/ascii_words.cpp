#include "analysis/ascii_words.h"

#include <array>
#include <cstdint>

namespace relucent::analysis {
namespace {

enum Class : std::uint8_t { other, letter, digit, joiner, mid_letter, mid_digit, mid_both };

constexpr std::array<Class, 128> make_classes() {
  std::array<Class, 128> classes{};
  for (char c = 'a'; c <= 'z'; ++c) classes[static_cast<unsigned>(c)] = letter;
  for (char c = 'A'; c <= 'Z'; ++c) classes[static_cast<unsigned>(c)] = letter;
  for (char c = '0'; c <= '9'; ++c) classes[static_cast<unsigned>(c)] = digit;
  classes['_'] = joiner;
  classes[':'] = mid_letter;
  classes[','] = classes[';'] = mid_digit;
  classes['.'] = classes['\''] = mid_both;
  return classes;
}
constexpr std::array<Class, 128> kClasses = make_classes();
constexpr std::size_t kLongest = 255;

/// End of the longest word that starts at `start` inside `text`; `start` if none does.
std::size_t word_end(std::u16string_view text, std::size_t start) {
  const auto class_at = [&](std::size_t i) { return i < text.size() ? kClasses[text[i]] : other; };
  std::size_t i = start;
  while (class_at(i) == joiner) ++i;
  if (class_at(i) != letter && class_at(i) != digit) return start;
  for (;;) {
    const Class here = class_at(i);
    if (here == letter || here == digit || here == joiner) {
      ++i;
      continue;
    }
    if (here == other) return i;
    const Class before = class_at(i - 1), after = class_at(i + 1);
    const bool letters = before == letter && after == letter && here != mid_digit;
    const bool digits = before == digit && after == digit && here != mid_letter;
    if (!letters && !digits) return i;
    i += 2;
  }
}

}  // namespace

void ascii_words(std::u16string_view text, std::size_t offset, std::vector<WordSpan>& words) {
  for (std::size_t i = 0; i < text.size();) {
    if (kClasses[text[i]] == other) {
      ++i;
      continue;
    }
    std::size_t end = word_end(text, i);
    if (end - i > kLongest) end = i + word_end(text.substr(i, kLongest), 0);
    if (end == i) {
      ++i;
      continue;
    }
    words.push_back({offset + i, offset + end});
    i = end;
  }
}

}  // namespace relucent::analysis
