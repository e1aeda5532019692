#include "plugin/index_format/analysis/ascii_words.h"

#include <array>
#include <cstdint>

#include "plugin/index_format/analysis/word_segmenter.h"

namespace relucent::analysis {
namespace {

enum Class : std::uint8_t { letter, digit, joiner, mid_letter, mid_digit, mid_both, other };

constexpr std::array<Class, 128> make_classes() {
  std::array<Class, 128> classes{};
  classes.fill(other);
  for (char c = 'a'; c <= 'z'; ++c) classes[static_cast<unsigned char>(c)] = letter;
  for (char c = 'A'; c <= 'Z'; ++c) classes[static_cast<unsigned char>(c)] = letter;
  for (char c = '0'; c <= '9'; ++c) classes[static_cast<unsigned char>(c)] = digit;
  classes['_'] = joiner;
  classes[':'] = mid_letter;
  classes[','] = classes[';'] = mid_digit;
  classes['.'] = classes['\''] = mid_both;
  return classes;
}
constexpr std::array<Class, 128> kClasses = make_classes();

template <typename Character>
Class class_of(Character c) {
  return kClasses[static_cast<unsigned char>(c)];
}

/// Length of the longest word that `text` starts with; 0 if it does not start with a word.
template <typename Character>
std::size_t word_length(std::basic_string_view<Character> text) {
  const std::size_t size = text.size();
  const auto class_at = [&](std::size_t i) { return i < size ? class_of(text[i]) : other; };
  std::size_t i = 0;
  while (class_at(i) == joiner) ++i;
  if (class_at(i) != letter && class_at(i) != digit) return 0;
  for (;;) {
    while (i < size && class_of(text[i]) <= joiner) ++i;
    const Class here = class_at(i);
    if (here == other) return i;
    const Class before = class_at(i - 1), after = class_at(i + 1);
    const bool letters = before == letter && after == letter && here != mid_digit;
    const bool digits = before == digit && after == digit && here != mid_letter;
    if (!letters && !digits) return i;
    i += 2;
  }
}

template <typename Character>
void find_words(std::basic_string_view<Character> text, std::size_t offset, std::vector<WordSpan>& words) {
  const std::size_t size = text.size();
  for (std::size_t i = 0; i < size;) {
    const Class first = class_of(text[i]);
    if (first == other) {
      ++i;
      continue;
    }
    // A word has at most kMaxWord units, so in a longer run of joiners only the last ones can be part of a word.
    if (first == joiner) {
      std::size_t run = i;
      while (run < size && class_of(text[run]) == joiner) ++run;
      if (run - i >= kMaxWord) i = run - (kMaxWord - 1);
    }
    const std::size_t length = word_length(text.substr(i, kMaxWord));
    if (length == 0) {
      // If no word starts at a joiner, none starts at the joiners after it.
      do {
        ++i;
      } while (first == joiner && i < size && class_of(text[i]) == joiner);
      continue;
    }
    words.push_back({offset + i, offset + i + length});
    i += length;
  }
}

}  // namespace

void ascii_words(std::u16string_view text, std::size_t offset, std::vector<WordSpan>& words) {
  find_words(text, offset, words);
}

void ascii_words(std::string_view text, std::size_t offset, std::vector<WordSpan>& words) {
  find_words(text, offset, words);
}

}  // namespace relucent::analysis
