#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/analyzer_kind.h"
#include "relucent/export.h"

namespace relucent {

/// One token of an analyzed text.
struct AnalyzedToken {
  std::string term;                     ///< UTF-8, as indexed: lower case, stemmed
  std::size_t start = 0;                ///< first byte of the word in the analyzed text
  std::size_t end = 0;                  ///< one past its last byte
  std::int32_t position_increment = 1;  ///< 1 + the number of stop words skipped just before
};

/// The tokens of modern Lucene's EnglishAnalyzer (StandardTokenizer, possessive, lower case, 33 stop words, Porter) for
/// a UTF-8 text; malformed sequences are read as U+FFFD. Thread-safe. Throws Error `internal` if ICU's data is missing.
RELUCENT_API std::vector<AnalyzedToken> analyze_english(std::string_view text);

/// Whether analyze() has the analyzer: all but whitespace and standard, which are Lucene++'s own.
RELUCENT_API bool can_analyze(AnalyzerKind analyzer) noexcept;

/// The tokens of modern Lucene's analyzer of a language (docs/languages.md). Thread-safe. Throws Error: `usage` if
/// can_analyze() is false, `internal` if a library or its data is missing.
RELUCENT_API std::vector<AnalyzedToken> analyze(AnalyzerKind analyzer, std::string_view text);

}  // namespace relucent
