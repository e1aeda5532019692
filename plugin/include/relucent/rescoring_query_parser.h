#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <QueryParser.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescore_query.h"
#include "relucent/weighted_field.h"

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
  /// With the analyzer of [first_stage]. Words without a field are searched in [first_stage] fields with their weights,
  /// as by Lucene++'s MultiFieldQueryParser, or in [index] contents_field alone. Throws Error.
  explicit RescoringQueryParser(const Config& config);
  ~RescoringQueryParser() override;

  // The virtual steps of parse(): the first sees the text, the second each parenthesis, the last the finished query.
  void ReInit(const Lucene::QueryParserCharStreamPtr& stream) override;
  using Lucene::QueryParser::ReInit;
  Lucene::QueryPtr ParseQuery(const Lucene::String& queryField) override;
  Lucene::QueryPtr TopLevelQuery(const Lucene::String& queryField) override;

  // Each part of a query, in the fields that are searched if it names none.
  Lucene::QueryPtr getFieldQuery(const Lucene::String& fieldName, const Lucene::String& queryText) override;
  Lucene::QueryPtr getFieldQuery(const Lucene::String& fieldName, const Lucene::String& queryText,
                                 std::int32_t slop) override;
  Lucene::QueryPtr getRangeQuery(const Lucene::String& fieldName, const Lucene::String& part1,
                                 const Lucene::String& part2, bool inclusive) override;
  Lucene::QueryPtr getWildcardQuery(const Lucene::String& fieldName, const Lucene::String& termStr) override;
  Lucene::QueryPtr getPrefixQuery(const Lucene::String& fieldName, const Lucene::String& termStr) override;
  Lucene::QueryPtr getFuzzyQuery(const Lucene::String& fieldName, const Lucene::String& termStr,
                                 double minSimilarity) override;

 private:
  RescoringQueryParser(const Config& config, std::vector<WeightedField> fields);
  template <typename Make>
  Lucene::QueryPtr in_fields(const Lucene::String& fieldName, Make&& make) const;

  std::vector<WeightedField> fields_;  ///< of parts without a field; empty: the default field alone
  std::string text_;
  int depth_ = 0;  // of the parentheses that are open
  std::chrono::steady_clock::time_point started_;
};

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
