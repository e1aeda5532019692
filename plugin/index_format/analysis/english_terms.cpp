#include "plugin/index_format/analysis/english_terms.h"

#include <algorithm>
#include <cstring>

#include "plugin/index_format/analysis/ascii_words.h"
#include "plugin/index_format/analysis/english_chain.h"
#include "plugin/index_format/analysis/utf16.h"

namespace relucent::analysis {
namespace {

constexpr std::size_t kKnownWords = 1 << 16;  // slots; 4 MB

bool is_ascii(std::string_view text) {
  std::uint64_t all = 0;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, text.data() + i, 8);
    all |= eight;
  }
  for (; i < text.size(); ++i) all |= static_cast<unsigned char>(text[i]);
  return (all & 0x8080808080808080U) == 0;
}

}  // namespace

EnglishTerms::EnglishTerms() : known_(kKnownWords) {}

std::span<const Term> EnglishTerms::terms_of(std::string_view text) {
  terms_.clear();
  words_.clear();
  skipped_ = 0;
  used_ = 0;
  // A term is at most 1.5 times as long as its word (lower case may take three bytes instead of two). Short terms are
  // copied as kMaxLength bytes.
  bytes_.resize(std::max(bytes_.size(), 2 * text.size() + 2 * kMaxLength));
  if (is_ascii(text)) {
    ascii_words(text, 0, words_);
    for (const WordSpan& span : words_) add_ascii_word(text.substr(span.start, span.end - span.start));
    return terms_;
  }
  units_.clear();
  append_utf16(text, units_);
  segmenter_.segment(units_, words_);
  for (const WordSpan& span : words_) {
    const std::u16string_view word = std::u16string_view(units_).substr(span.start, span.end - span.start);
    if (std::ranges::all_of(word, [](char16_t unit) { return unit < 0x80; })) {
      add_ascii_word(word);
    } else {
      add_any_word(word);
    }
  }
  return terms_;
}

template <typename Character>
void EnglishTerms::add_ascii_word(std::basic_string_view<Character> word) {
  std::size_t size = word.size();
  if (size >= 2 && word[size - 2] == '\'' && (word[size - 1] == 's' || word[size - 1] == 'S')) size -= 2;
  if (size > kMaxLength) {
    add_any_word(std::u16string(word.begin(), word.end()));
    return;
  }
  std::array<char, kMaxLength> lower{};
  for (std::size_t i = 0; i < size; ++i) {
    const auto c = static_cast<unsigned char>(word[i]);
    lower[i] = static_cast<char>(c | (c >= 'A' && c <= 'Z' ? 0x20 : 0));
  }
  Known& place = known_[hash_of({lower.data(), size}) % kKnownWords];
  if (place.word_size != size || place.word != lower) {
    place.word = lower;
    place.word_size = static_cast<std::uint8_t>(size);
    learn(place);
  }
  if (place.stop_word) {
    ++skipped_;
    return;
  }
  std::memcpy(bytes_.data() + used_, place.term.data(), kMaxLength);
  terms_.push_back({{bytes_.data() + used_, place.term_size}, place.hash, skipped_ + 1});
  used_ += place.term_size;
  skipped_ = 0;
}

void EnglishTerms::learn(Known& place) {
  term_.assign(place.word.begin(), place.word.begin() + place.word_size);
  place.stop_word = !stem_unless_stop_word(term_);
  utf8_.clear();
  append_utf8(term_, utf8_);
  place.term = {};
  std::copy(utf8_.begin(), utf8_.end(), place.term.begin());
  place.term_size = static_cast<std::uint8_t>(utf8_.size());
  place.hash = hash_of(utf8_);
}

void EnglishTerms::add_any_word(std::u16string_view word) {
  if (!finish_word(word, term_)) {
    ++skipped_;
    return;
  }
  utf8_.clear();
  append_utf8(term_, utf8_);
  std::copy(utf8_.begin(), utf8_.end(), bytes_.data() + used_);
  terms_.push_back({{bytes_.data() + used_, utf8_.size()}, hash_of(utf8_), skipped_ + 1});
  used_ += utf8_.size();
  skipped_ = 0;
}

}  // namespace relucent::analysis
