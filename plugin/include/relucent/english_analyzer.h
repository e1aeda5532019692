#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Analyzer.h>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// Modern Lucene's EnglishAnalyzer for Lucene++: the tokens of analyze_english() with position increments; offsets
/// count wchar_t units of the text. Does not use Lucene++'s PorterStemFilter, whose stems differ. Thread-safe.
class RELUCENT_API EnglishAnalyzer : public Lucene::Analyzer {
 public:
  Lucene::TokenStreamPtr tokenStream(const Lucene::String& field, const Lucene::ReaderPtr& reader) override;
  Lucene::TokenStreamPtr reusableTokenStream(const Lucene::String& field, const Lucene::ReaderPtr& reader) override;
};

/// The analyzer selected by [first_stage] analyzer: english | whitespace | standard (the last two are Lucene++'s own).
/// Throws Error `usage` for another name.
RELUCENT_API Lucene::AnalyzerPtr make_analyzer(const FirstStageConfig& first_stage);

}  // namespace relucent
