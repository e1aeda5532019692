#pragma once

#include <vector>

#include "plugin/index_format/analysis/languages/word_step.h"
#include "relucent/analyzer_kind.h"

namespace relucent::analysis {

/// What cuts a text into words.
enum class Cutting {
  words,       ///< WordSegmenter
  letters,     ///< runs of letters
  dictionary,  ///< ICU's dictionary of the language
};

/// How the texts of a language become terms.
struct LanguageRules {
  Cutting cutting = Cutting::words;
  const char* locale = "";                ///< of the dictionary
  bool joiners_divide = false;            ///< a zero-width non-joiner ends a word
  std::vector<WordStep> steps;            ///< of each word, in order
  bool bigrams = false;                   ///< of neighbouring CJK characters, after `steps`
  std::vector<WordStep> after_bigrams{};  ///< of each of them, and of the other words
};

/// Whether rules_of() has the language: all but english, whitespace and standard.
bool has_language_rules(AnalyzerKind language);
/// The chain of modern Lucene's analyzer of this language. Throws Error `internal`, for one that has none also.
LanguageRules rules_of(AnalyzerKind language);

}  // namespace relucent::analysis
