#pragma once

namespace relucent {

/// How texts become terms: by the rules of a language, or by simple rules for all others.
enum class AnalyzerKind {
  english,
  whitespace,  ///< Lucene++'s WhitespaceAnalyzer
  standard,    ///< Lucene++'s StandardAnalyzer
  simple,      ///< letters in lower case
  arabic,
  bengali,
  chinese,
  dutch,
  finnish,
  french,
  german,
  hindi,
  indonesian,
  italian,
  japanese,
  korean,
  persian,
  portuguese,
  russian,
  spanish,
  swedish,
  thai,
  turkish,
};

}  // namespace relucent
