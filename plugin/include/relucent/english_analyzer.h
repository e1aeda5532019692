#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Analyzer.h>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// Modern Lucene's analyzer of a language for Lucene++: the tokens of analyze() with position increments; offsets count
/// wchar_t units of the text. Thread-safe.
class RELUCENT_API LanguageAnalyzer : public Lucene::Analyzer {
 public:
  /// For those that can_analyze() (relucent/analysis.h).
  explicit LanguageAnalyzer(AnalyzerKind language) : language_(language) {}
  Lucene::TokenStreamPtr tokenStream(const Lucene::String& field, const Lucene::ReaderPtr& reader) override;
  Lucene::TokenStreamPtr reusableTokenStream(const Lucene::String& field, const Lucene::ReaderPtr& reader) override;

 private:
  AnalyzerKind language_;
};

/// Modern Lucene's EnglishAnalyzer. Does not use Lucene++'s PorterStemFilter, whose stems differ.
class RELUCENT_API EnglishAnalyzer : public LanguageAnalyzer {
 public:
  EnglishAnalyzer() : LanguageAnalyzer(AnalyzerKind::english) {}
};

/// The analyzer of [index] language, or of [first_stage] analyzer if that is unset. Throws Error as the next one.
RELUCENT_API Lucene::AnalyzerPtr make_analyzer(const Config& config);
/// The analyzer of [first_stage] analyzer; whitespace and standard are Lucene++'s own. Throws Error `usage` for an
/// unknown one.
RELUCENT_API Lucene::AnalyzerPtr make_analyzer(const FirstStageConfig& first_stage);

}  // namespace relucent
