#include "plugin/index_format/analysis/languages/language_rules.h"

#include <algorithm>
#include <map>
#include <string>

#include "plugin/index_format/analysis/languages/letters.h"
#include "plugin/index_format/analysis/languages/light_stemmers.h"
#include "plugin/index_format/analysis/languages/snowball.h"
#include "plugin/index_format/analysis/languages/stop_words.h"
#include "plugin/index_format/analysis/lower_case.h"
#include "relucent/error.h"

namespace relucent::analysis {
namespace {

using Change = void (*)(std::u16string&);

WordStep step(Change change) {
  return [change](std::u16string& word) {
    change(word);
    return true;
  };
}

WordStep lower() {
  return [lower = std::u16string()](std::u16string& word) mutable {
    lower_case(word, lower);
    word.swap(lower);
    return true;
  };
}

WordStep unless_stop_word(AnalyzerKind language) {
  return [words = &stop_words(language)](std::u16string& word) { return !words->contains(word); };
}

WordStep without_article(std::u16string_view articles) {
  return [articles](std::u16string& word) {
    drop_article(word, articles);
    return true;
  };
}

/// Snowball's Dutch stems, except for the words whose stems Lucene's DutchAnalyzer gives.
WordStep dutch_stems() {
  return [snowball = snowball_stemmer(AnalyzerKind::dutch)](std::u16string& word) {
    static const std::map<std::u16string_view, std::u16string_view> kGiven = {
        {u"fiets", u"fiets"}, {u"bromfiets", u"bromfiets"}, {u"ei", u"eier"}, {u"kind", u"kinder"}};
    const auto given = kGiven.find(word);
    if (given == kGiven.end()) return snowball(word);
    word = given->second;
    return true;
  };
}

/// A long vowel at the end of a katakana word of at least four letters is often not written.
void shorten_katakana(std::u16string& word) {
  constexpr std::size_t shortest = 4;
  constexpr char16_t long_vowel = u'\u30FC';
  const auto is_katakana = [](char16_t unit) {
    return (unit >= 0x30A0 && unit <= 0x30FF);  // the block
  };
  if (word.size() >= shortest && word.back() == long_vowel && std::ranges::all_of(word, is_katakana)) word.pop_back();
}

constexpr std::u16string_view kFrenchArticles = u" l m t qu n s j d c jusqu quoiqu lorsqu puisqu ";
constexpr std::u16string_view kItalianArticles =
    u" c l all dall dell nell sull coll pell gl agl dagl degl negl sugl un m t s v d ";

}  // namespace

bool has_language_rules(AnalyzerKind language) {
  return language >= AnalyzerKind::simple && language <= AnalyzerKind::turkish;
}

LanguageRules rules_of(AnalyzerKind language) {
  LanguageRules rules;
  const auto stop = [language] { return unless_stop_word(language); };
  switch (language) {
    case AnalyzerKind::english:
    case AnalyzerKind::whitespace:
    case AnalyzerKind::standard: break;
    case AnalyzerKind::simple:
      rules.cutting = Cutting::letters;
      rules.steps = {lower()};
      return rules;
    case AnalyzerKind::arabic:
      rules.steps = {lower(), step(fold_digits), stop(), step(normalize_arabic), step(stem_arabic)};
      return rules;
    case AnalyzerKind::bengali:
      rules.steps = {lower(), step(fold_digits), step(normalize_indic), step(normalize_bengali),
                     stop(),  step(stem_bengali)};
      return rules;
    case AnalyzerKind::chinese:
    case AnalyzerKind::korean:
      rules.steps = {step(fold_width), lower()};
      rules.bigrams = true;
      rules.after_bigrams = {unless_stop_word(AnalyzerKind::chinese)};
      return rules;
    case AnalyzerKind::dutch: rules.steps = {lower(), stop(), dutch_stems()}; return rules;
    case AnalyzerKind::finnish:
    case AnalyzerKind::russian:
    case AnalyzerKind::swedish: rules.steps = {lower(), stop(), snowball_stemmer(language)}; return rules;
    case AnalyzerKind::turkish:
      rules.steps = {step(cut_at_apostrophe), step(lower_case_turkish), stop(), snowball_stemmer(language)};
      return rules;
    case AnalyzerKind::french:
      rules.steps = {without_article(kFrenchArticles), lower(), stop(), step(stem_french)};
      return rules;
    case AnalyzerKind::italian:
      rules.steps = {without_article(kItalianArticles), lower(), stop(), step(stem_italian)};
      return rules;
    case AnalyzerKind::german: rules.steps = {lower(), stop(), step(normalize_german), step(stem_german)}; return rules;
    case AnalyzerKind::spanish: rules.steps = {lower(), stop(), step(stem_spanish)}; return rules;
    case AnalyzerKind::portuguese: rules.steps = {lower(), stop(), step(stem_portuguese)}; return rules;
    case AnalyzerKind::hindi:
      rules.steps = {lower(), step(fold_digits), step(normalize_indic), step(normalize_hindi),
                     stop(),  step(stem_hindi)};
      return rules;
    case AnalyzerKind::indonesian: rules.steps = {lower(), stop(), step(stem_indonesian)}; return rules;
    case AnalyzerKind::persian:
      rules.joiners_divide = true;
      rules.steps = {lower(), step(fold_digits), step(normalize_arabic), step(normalize_persian), stop()};
      return rules;
    case AnalyzerKind::thai:
      rules.cutting = Cutting::dictionary;
      rules.locale = "th";
      rules.steps = {lower(), step(fold_digits), stop()};
      return rules;
    case AnalyzerKind::japanese:
      rules.cutting = Cutting::dictionary;
      rules.locale = "ja";
      rules.steps = {step(fold_width), stop(), step(shorten_katakana), lower()};
      return rules;
  }
  throw Error(ErrorKind::internal, "analysis", "no rules for this language");
}

}  // namespace relucent::analysis
