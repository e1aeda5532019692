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

/// Length of the longest word that `text` starts with; 0 if it starts with none.
std::size_t word_length(std::u16string_view text) {
  const auto class_at = [&](std::size_t i) { return i < text.size() ? kClasses[text[i]] : other; };
  std::size_t i = 0;
  while (class_at(i) == joiner) ++i;
  if (class_at(i) != letter && class_at(i) != digit) return 0;
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
  const std::size_t size = text.size();
  for (std::size_t i = 0; i < size;) {
    if (kClasses[text[i]] == other) {
      ++i;
      continue;
    }
    // A match may only use the units that a word may have; in a longer run of joiners only the last ones reach a word.
    if (kClasses[text[i]] == joiner) {
      std::size_t run = i;
      while (run < size && kClasses[text[run]] == joiner) ++run;
      if (run - i >= kLongest) i = run - (kLongest - 1);
    }
    const std::size_t length = word_length(text.substr(i, kLongest));
    if (length == 0) {
      // Where none starts at a joiner, none starts at the joiners after it.
      const bool joiners = kClasses[text[i]] == joiner;
      do {
        ++i;
      } while (joiners && i < size && kClasses[text[i]] == joiner);
      continue;
    }
    words.push_back({offset + i, offset + i + length});
    i += length;
  }
}

}  // namespace relucent::analysis
