#include <unicode/uchar.h>

#include "plugin/index_format/analysis/languages/light_stemmers.h"
#include "plugin/index_format/analysis/languages/word_step.h"

namespace relucent::analysis {
namespace {

/// An ending of French words, and what becomes of it.
struct FrenchEnding {
  std::u16string_view ending;
  std::size_t longer_than;  ///< the word must have more units
  std::u16string_view by;   ///< replaces the ending
  bool last = true;         ///< no other ending is tried
};

// In the order of trial.
constexpr FrenchEnding kFrenchEndings[] = {
    {u"issement", 9, u"ir"},     {u"issant", 8, u"ir"},      {u"ivement", 7, u"if"},        {u"ement", 6, u"e"},
    {u"ficatrice", 11, u"fier"}, {u"ficateur", 10, u"fier"}, {u"catrice", 9, u"quer"},      {u"cateur", 8, u"quer"},
    {u"atrice", 8, u"er"},       {u"ateur", 7, u"er"},       {u"trice", 6, u"teur", false}, {u"ième", 5, u""},
    {u"teuse", 7, u"ter"},       {u"teur", 6, u"ter"},       {u"euse", 5, u"eu"},           {u"ère", 8, u"er"},
    {u"ive", 7, u"if"},          {u"folle", 4, u"fou"},      {u"molle", 4, u"mou"},         {u"nnelle", 9, u"n"},
    {u"nnel", 9, u"n"},          {u"ète", 4, u"et", false},  {u"ique", 8, u"", false},      {u"esse", 8, u"e"},
    {u"inage", 7, u"in"},        {u"isation", 9, u""},       {u"isateur", 9, u""},          {u"ation", 8, u""},
    {u"ition", 8, u""},
};

void finish_french(std::u16string& word) {
  if (word.size() > 4) {
    replace_units(word, u"àáâôèéêùûîç", u"aaaoeeeuuic");
    // Only one of several equal letters in a row stays.
    std::size_t kept = 1;
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (word[i] != word[kept - 1] || !u_isalpha(word[i])) word[kept++] = word[i];
    }
    word.resize(kept);
  }
  if (word.size() > 4 && word.ends_with(u"ie")) word.resize(word.size() - 2);
  if (word.size() <= 4) return;
  for (const char16_t letter : {u'r', u'e', u'e'}) {
    if (word.ends_with(letter)) word.pop_back();
  }
  if (word.back() == word[word.size() - 2] && u_isalpha(word.back())) word.pop_back();
}

void fold_vowels(std::u16string& word) { replace_units(word, u"àáâäòóôöèéêëùúûüìíîï", u"aaaaooooeeeeuuuuiiii"); }

}  // namespace

void stem_french(std::u16string& word) {
  if (word.size() > 5 && word.ends_with(u'x')) {
    if (word.ends_with(u"aux") && word[word.size() - 4] != u'e') word[word.size() - 2] = u'l';
    word.pop_back();
  }
  for (const char16_t plural : {u'x', u's'}) {
    if (word.size() > 3 && word.ends_with(plural)) word.pop_back();
  }
  for (const FrenchEnding& each : kFrenchEndings) {
    if (word.size() <= each.longer_than || !word.ends_with(each.ending)) continue;
    word.replace(word.size() - each.ending.size(), each.ending.size(), each.by);
    if (each.ending == u"isation" && word.size() > 5 && word.ends_with(u"ual")) word[word.size() - 2] = u'e';
    if (each.last) break;
  }
  finish_french(word);
}

void stem_spanish(std::u16string& word) {
  if (word.size() < 5) return;
  fold_vowels(word);
  if (ends_with_any(word, {u"o", u"a", u"e"})) {
    word.pop_back();
  } else if (word.ends_with(u"ces")) {
    word.replace(word.size() - 3, 3, u"z");
  } else if (ends_with_any(word, {u"os", u"as", u"es"})) {  // also "eses"
    word.resize(word.size() - 2);
  }
}

void stem_italian(std::u16string& word) {
  if (word.size() < 6) return;
  fold_vowels(word);
  if (ends_with_any(word, {u"ie", u"he", u"hi", u"ii", u"ia", u"io"})) {
    word.resize(word.size() - 2);
  } else if (ends_with_any(word, {u"e", u"i", u"a", u"o"})) {
    word.pop_back();
  }
}

namespace {

void remove_portuguese_plural(std::u16string& word) {
  const std::size_t size = word.size();
  const auto replace = [&word](std::size_t units, std::u16string_view by) {
    word.replace(word.size() - units, units, by);
  };
  if (size > 4 && ends_with_any(word, {u"res", u"ses", u"les", u"zes"})) return replace(2, u"");
  if (size > 3 && word.ends_with(u"ns")) return replace(2, u"m");
  if (size > 4 && ends_with_any(word, {u"eis", u"éis"})) return replace(3, u"el");
  if (size > 4 && word.ends_with(u"ais")) return replace(2, u"l");
  if (size > 4 && word.ends_with(u"óis")) return replace(3, u"ol");
  if (size > 4 && word.ends_with(u"is")) return replace(1, u"l");
  if (size > 3 && ends_with_any(word, {u"ões", u"ães"})) return replace(3, u"ão");
  if (size > 6 && word.ends_with(u"mente")) return replace(5, u"");
  if (size > 3 && word.ends_with(u's')) return replace(1, u"");
}

void make_portuguese_masculine(std::u16string& word) {
  const std::size_t size = word.size();
  const auto replace = [&word](std::size_t units, std::u16string_view by) {
    word.replace(word.size() - units, units, by);
  };
  if (size > 7 && ends_with_any(word, {u"inha", u"iaca", u"eira"})) return replace(1, u"o");
  if (size <= 6) return;
  if (ends_with_any(word, {u"osa", u"ica", u"ida", u"ada", u"iva", u"ama"})) return replace(1, u"o");
  if (word.ends_with(u"ona")) return replace(3, u"ão");
  if (word.ends_with(u"ora")) return replace(1, u"");
  if (word.ends_with(u"esa")) return replace(3, u"ês");
  if (word.ends_with(u"na")) return replace(1, u"o");
}

}  // namespace

void stem_portuguese(std::u16string& word) {
  if (word.size() < 4) return;
  remove_portuguese_plural(word);
  if (word.size() > 3 && word.ends_with(u'a')) make_portuguese_masculine(word);
  if (word.size() > 4 && ends_with_any(word, {u"e", u"a", u"o"})) word.pop_back();
  fold_vowels(word);
  replace_units(word, u"ãõç", u"aoc");
}

}  // namespace relucent::analysis
