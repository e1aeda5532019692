#include "plugin/index_format/analysis/languages/light_stemmers.h"
#include "plugin/index_format/analysis/languages/word_step.h"

namespace relucent::analysis {

void normalize_arabic(std::u16string& word) {
  replace_units(word, u"\u0622\u0623\u0625\u0649\u0629", u"\u0627\u0627\u0627\u064A\u0647");
  remove_units(word, u"\u0640\u064B\u064C\u064D\u064E\u064F\u0650\u0651\u0652");
}

void stem_arabic(std::u16string& word) {
  // The article alone and after wa, bi, ka, fa; "lil"; wa, which needs a longer word.
  constexpr std::u16string_view prefixes[] = {u"\u0627\u0644",
                                              u"\u0648\u0627\u0644",
                                              u"\u0628\u0627\u0644",
                                              u"\u0643\u0627\u0644",
                                              u"\u0641\u0627\u0644",
                                              u"\u0644\u0644",
                                              u"\u0648"};
  for (const std::u16string_view prefix : prefixes) {
    if (word.size() < (prefix.size() == 1 ? 4 : prefix.size() + 2) || !word.starts_with(prefix)) continue;
    word.erase(0, prefix.size());
    break;
  }
  constexpr std::u16string_view suffixes[] = {u"\u0647\u0627", u"\u0627\u0646", u"\u0627\u062A", u"\u0648\u0646",
                                              u"\u064A\u0646", u"\u064A\u0647", u"\u064A\u0629", u"\u0647",
                                              u"\u0629",       u"\u064A"};
  for (const std::u16string_view suffix : suffixes) {
    if (word.size() >= suffix.size() + 2 && word.ends_with(suffix)) word.resize(word.size() - suffix.size());
  }
}

void normalize_persian(std::u16string& word) {
  replace_units(word, u"\u06CC\u06D2\u06A9\u06C0\u06C1", u"\u064A\u064A\u0643\u0647\u0647");
  remove_units(word, u"\u0654");
}

}  // namespace relucent::analysis
