#include "plugin/index_format/analysis/languages/light_stemmers.h"
#include "plugin/index_format/analysis/languages/word_step.h"

namespace relucent::analysis {
namespace {

/// Letters after which a final s (or st) is an ending.
bool takes_s(char16_t letter) { return std::u16string_view(u"bdfghklmnt").find(letter) != std::u16string_view::npos; }

}  // namespace

void normalize_german(std::u16string& word) {
  enum class Before {
    other,
    vowel,       ///< a vowel or q: a u after it does not begin an umlaut
    may_umlaut,  ///< an a, o or u whose e would be its umlaut's
  };
  std::u16string out;
  out.reserve(word.size() + 1);
  Before before = Before::other;
  for (const char16_t letter : word) {
    switch (letter) {
      case u'a':
      case u'o':
        out += letter;
        before = Before::may_umlaut;
        break;
      case u'u':
        out += letter;
        before = before == Before::other ? Before::may_umlaut : Before::vowel;
        break;
      case u'e':
        if (before != Before::may_umlaut) out += letter;
        before = Before::vowel;
        break;
      case u'i':
      case u'q':
      case u'y':
        out += letter;
        before = Before::vowel;
        break;
      case u'ä':
        out += u'a';
        before = Before::vowel;
        break;
      case u'ö':
        out += u'o';
        before = Before::vowel;
        break;
      case u'ü':
        out += u'u';
        before = Before::vowel;
        break;
      case u'ß':
        out += u"ss";
        before = Before::other;
        break;
      default:
        out += letter;
        before = Before::other;
        break;
    }
  }
  word = std::move(out);
}

void stem_german(std::u16string& word) {
  replace_units(word, u"äàáâöòóôïìíîüùúû", u"aaaaooooiiiiuuuu");
  const auto shorten = [&word](std::size_t units) { word.resize(word.size() - units); };
  // First the endings of inflection …
  if (word.size() > 5 && word.ends_with(u"ern")) {
    shorten(3);
  } else if (word.size() > 4 && ends_with_any(word, {u"em", u"en", u"er", u"es"})) {
    shorten(2);
  } else if (word.size() > 3 && (word.ends_with(u'e') || (word.ends_with(u's') && takes_s(word[word.size() - 2])))) {
    shorten(1);
  }
  // … then those of comparison.
  if (word.size() > 5 && word.ends_with(u"est")) {
    shorten(3);
  } else if (word.size() > 4 &&
             (ends_with_any(word, {u"er", u"en"}) || (word.ends_with(u"st") && takes_s(word[word.size() - 3])))) {
    shorten(2);
  }
}

}  // namespace relucent::analysis
