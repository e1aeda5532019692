#include "plugin/index_format/analysis/porter_stemmer.h"

#include <algorithm>
#include <string_view>

namespace relucent::analysis {
namespace {

using Suffix = std::u16string_view;

/// The word being stemmed. In the paper's terms: m is the number of VC groups of the stem, *v* "the stem contains
/// a vowel", *d "ends with a double consonant", *o "ends consonant-vowel-consonant, the last not w, x or y".
class Word {
 public:
  Word(char16_t* text, std::size_t length) : text_(text), length_(length) {}

  std::size_t length() const { return length_; }
  char16_t last() const { return text_[length_ - 1]; }
  bool ends(Suffix suffix) const {
    return length_ >= suffix.size() && Suffix(text_ + length_ - suffix.size(), suffix.size()) == suffix;
  }
  void shorten(std::size_t units) { length_ -= units; }
  void replace(std::size_t units, Suffix by) {
    length_ -= units;
    std::copy(by.begin(), by.end(), text_ + length_);
    length_ += by.size();
  }

  int measure(std::size_t stem) const {
    int groups = 0;
    bool after_vowel = false, consonant_before = false;
    for (std::size_t i = 0; i < stem; ++i) {
      const bool consonant = is_consonant(i, consonant_before);
      if (consonant && after_vowel) ++groups;
      after_vowel = !consonant;
      consonant_before = consonant;
    }
    return groups;
  }
  bool has_vowel(std::size_t stem) const {
    bool consonant_before = false;
    for (std::size_t i = 0; i < stem; ++i) {
      consonant_before = is_consonant(i, consonant_before);
      if (!consonant_before) return true;
    }
    return false;
  }
  bool double_consonant() const {
    return length_ >= 2 && text_[length_ - 1] == text_[length_ - 2] && consonant_at(length_ - 1);
  }
  bool consonant_vowel_consonant(std::size_t stem) const {
    if (stem < 3 || !consonant_at(stem - 1) || consonant_at(stem - 2) || !consonant_at(stem - 3)) return false;
    const char16_t c = text_[stem - 1];
    return c != u'w' && c != u'x' && c != u'y';
  }

 private:
  /// y is a consonant at the start and after a vowel.
  bool is_consonant(std::size_t i, bool consonant_before) const {
    switch (text_[i]) {
      case u'a':
      case u'e':
      case u'i':
      case u'o':
      case u'u': return false;
      case u'y': return i == 0 || !consonant_before;
      default: return true;
    }
  }
  bool consonant_at(std::size_t i) const {
    // Only a y's type depends on the letter before it.
    std::size_t first = i;
    while (first > 0 && text_[first] == u'y') --first;
    bool consonant = is_consonant(first, false);
    for (std::size_t j = first + 1; j <= i; ++j) consonant = is_consonant(j, consonant);
    return consonant;
  }

  char16_t* text_;
  std::size_t length_;
};

struct Rule {
  Suffix suffix, by;
};

/// Applies the rule of the longest matching suffix if the stem before it has a measure above `above`.
template <std::size_t N>
void apply(Word& word, const Rule (&rules)[N], int above) {
  const Rule* longest = nullptr;
  for (const Rule& rule : rules) {
    if (word.ends(rule.suffix) && (longest == nullptr || rule.suffix.size() > longest->suffix.size())) longest = &rule;
  }
  if (longest != nullptr && word.measure(word.length() - longest->suffix.size()) > above) {
    word.replace(longest->suffix.size(), longest->by);
  }
}

void step1a(Word& word) {
  if (word.last() != u's') return;
  if (word.ends(u"sses") || word.ends(u"ies")) {
    word.shorten(2);
  } else if (!word.ends(u"ss")) {
    word.shorten(1);
  }
}

void step1b(Word& word) {
  if (word.ends(u"eed")) {
    if (word.measure(word.length() - 3) > 0) word.shorten(1);
    return;
  }
  const std::size_t suffix = word.ends(u"ed") ? 2 : word.ends(u"ing") ? 3 : 0;
  if (suffix == 0 || !word.has_vowel(word.length() - suffix)) return;
  word.shorten(suffix);
  // NOLINTNEXTLINE(bugprone-branch-clone): the rules are in Porter's order
  if (word.ends(u"at") || word.ends(u"bl") || word.ends(u"iz")) {
    word.replace(0, u"e");
  } else if (word.double_consonant()) {
    const char16_t c = word.last();
    if (c != u'l' && c != u's' && c != u'z') word.shorten(1);
  } else if (word.measure(word.length()) == 1 && word.consonant_vowel_consonant(word.length())) {
    word.replace(0, u"e");
  }
}

void step1c(Word& word) {
  if (word.ends(u"y") && word.has_vowel(word.length() - 1)) word.replace(1, u"i");
}

constexpr Rule kStep2[] = {
    {u"ational", u"ate"}, {u"tional", u"tion"}, {u"enci", u"ence"}, {u"anci", u"ance"}, {u"izer", u"ize"},
    {u"bli", u"ble"},     {u"alli", u"al"},     {u"entli", u"ent"}, {u"eli", u"e"},     {u"ousli", u"ous"},
    {u"ization", u"ize"}, {u"ation", u"ate"},   {u"ator", u"ate"},  {u"alism", u"al"},  {u"iveness", u"ive"},
    {u"fulness", u"ful"}, {u"ousness", u"ous"}, {u"aliti", u"al"},  {u"iviti", u"ive"}, {u"biliti", u"ble"},
    {u"logi", u"log"},
};

constexpr Rule kStep3[] = {
    {u"icate", u"ic"}, {u"ative", u""}, {u"alize", u"al"}, {u"iciti", u"ic"},
    {u"ical", u"ic"},  {u"ful", u""},   {u"ness", u""},
};

constexpr Suffix kStep4[] = {u"al",  u"ance", u"ence", u"er",  u"ic",  u"able", u"ible", u"ant", u"ement", u"ment",
                             u"ent", u"ion",  u"ou",   u"ism", u"ate", u"iti",  u"ous",  u"ive", u"ize"};

void step4(Word& word) {
  Suffix longest;
  for (const Suffix suffix : kStep4) {
    if (suffix.size() > longest.size() && word.ends(suffix)) longest = suffix;
  }
  if (longest.empty()) return;
  const std::size_t stem = word.length() - longest.size();
  if (longest == u"ion") {
    Word before = word;
    before.shorten(longest.size());
    if (!before.ends(u"s") && !before.ends(u"t")) return;
  }
  if (word.measure(stem) > 1) word.shorten(longest.size());
}

void step5(Word& word) {
  if (word.last() == u'e') {
    const std::size_t stem = word.length() - 1;
    const int measure = word.measure(stem);
    if (measure > 1 || (measure == 1 && !word.consonant_vowel_consonant(stem))) word.shorten(1);
  }
  if (word.last() == u'l' && word.double_consonant() && word.measure(word.length()) > 1) word.shorten(1);
}

}  // namespace

std::size_t porter_stem(char16_t* text, std::size_t length) {
  if (length <= 2) return length;
  Word word(text, length);
  step1a(word);
  step1b(word);
  step1c(word);
  apply(word, kStep2, 0);
  apply(word, kStep3, 0);
  step4(word);
  step5(word);
  return word.length();
}

}  // namespace relucent::analysis
