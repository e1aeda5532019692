#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <QueryParser.h>

#include <chrono>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescore_query.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

/// A Lucene++ QueryParser whose parse() returns a RescoreQuery with the parsed text, also when called through a
/// QueryParserPtr. The text is the typed one without the backslashes that escape query syntax; it is empty if the query
/// has only patterns and ranges ("ban*", "*:*", "[a TO b]"). More than 256 parentheses in each other are a
/// QueryParserError. One parser per thread, as with QueryParser.
class RELUCENT_API RescoringQueryParser : public Lucene::QueryParser {
 public:
  RescoringQueryParser(Lucene::LuceneVersion::Version matchVersion, const Lucene::String& defaultField,
                       const Lucene::AnalyzerPtr& queryAnalyzer);
  /// With the analyzer of [first_stage] and the field of [index] contents_field. Throws Error.
  explicit RescoringQueryParser(const Config& config);
  ~RescoringQueryParser() override;

  // The virtual steps of parse(): the first sees the text, the second each parenthesis, the last the finished query.
  void ReInit(const Lucene::QueryParserCharStreamPtr& stream) override;
  using Lucene::QueryParser::ReInit;
  Lucene::QueryPtr ParseQuery(const Lucene::String& queryField) override;
  Lucene::QueryPtr TopLevelQuery(const Lucene::String& queryField) override;

 private:
  std::string text_;
  int depth_ = 0;  // of the parentheses that are open
  std::chrono::steady_clock::time_point started_;
};

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
