#include "relucent/rescoring_query_parser.h"

#include <BooleanClause.h>
#include <BooleanQuery.h>
#include <FastCharStream.h>
#include <StringReader.h>
#include <fmt/xchar.h>

#include <utility>

#include "plugin/lucene/queries/query_text.h"
#include "relucent/english_analyzer.h"
#include "relucent/stored_text.h"
#include "relucent/times.h"

namespace relucent {

using Lucene::newLucene;

namespace {

// "what is c\+\+" was typed as "what is c++": programs escape the user's words before parsing them.
Lucene::String without_escapes(const Lucene::String& text) {
  Lucene::String out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == L'\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

bool is_plain(const std::vector<WeightedField>& fields) { return fields.size() == 1 && fields[0].weight == 1; }

/// A limit on parentheses in each other: Lucene++'s parser, and what reads its queries, recurse once per level.
constexpr int kMostParentheses = 256;

}  // namespace

RescoringQueryParser::RescoringQueryParser(Lucene::LuceneVersion::Version matchVersion,
                                           const Lucene::String& defaultField, const Lucene::AnalyzerPtr& queryAnalyzer)
    : Lucene::QueryParser(matchVersion, defaultField, queryAnalyzer) {}
RescoringQueryParser::RescoringQueryParser(const Config& config)
    : RescoringQueryParser(config, searched_fields(config.index, config.first_stage)) {}
// Without a default field, parts of a query that name a field can be told from those that name none.
RescoringQueryParser::RescoringQueryParser(const Config& config, std::vector<WeightedField> fields)
    : RescoringQueryParser(Lucene::LuceneVersion::LUCENE_CURRENT,
                           is_plain(fields) ? to_lucene(fields[0].name) : Lucene::String(), make_analyzer(config)) {
  if (!is_plain(fields)) fields_ = std::move(fields);
}
RescoringQueryParser::~RescoringQueryParser() = default;

// parse() is not virtual, but it begins by calling this function with an unread stream.
void RescoringQueryParser::ReInit(const Lucene::QueryParserCharStreamPtr& stream) {
  started_ = std::chrono::steady_clock::now();
  text_.clear();
  depth_ = 0;
  const auto unread = boost::dynamic_pointer_cast<Lucene::FastCharStream>(stream);
  if (!unread || !unread->input) {
    Lucene::QueryParser::ReInit(stream);
    return;
  }
  Lucene::String text;
  for (std::int32_t c = unread->input->read(); c != Lucene::Reader::READER_EOF; c = unread->input->read()) {
    text += static_cast<wchar_t>(c);
  }
  text_ = to_utf8(without_escapes(text));
  Lucene::QueryParser::ReInit(newLucene<Lucene::FastCharStream>(newLucene<Lucene::StringReader>(text)));
}

Lucene::QueryPtr RescoringQueryParser::ParseQuery(const Lucene::String& queryField) {
  if (depth_ > kMostParentheses) {
    throw Lucene::QueryParserError(fmt::format(L"nests deeper than {} parentheses", kMostParentheses));
  }
  ++depth_;
  Lucene::QueryPtr query = Lucene::QueryParser::ParseQuery(queryField);
  --depth_;
  return query;
}

Lucene::QueryPtr RescoringQueryParser::TopLevelQuery(const Lucene::String& queryField) {
  Lucene::QueryPtr inner = Lucene::QueryParser::TopLevelQuery(queryField);
  if (!inner) inner = newBooleanQuery(false);  // nothing but stop words
  // A query of rules alone is syntax ("ban*", "*:*"), not words for a model to read.
  const auto query = newLucene<RescoreQuery>(inner, matches_by_rule_alone(inner) ? std::string() : text_);
  query->parseTime = time_since(started_);
  return query;
}

template <typename Make>
Lucene::QueryPtr RescoringQueryParser::in_fields(const Lucene::String& fieldName, Make&& make) const {
  if (!fieldName.empty() || fields_.empty()) return make(fieldName);
  const auto any = newLucene<Lucene::BooleanQuery>(true);
  for (const WeightedField& one : fields_) {
    const Lucene::QueryPtr part = make(to_lucene(one.name));
    if (!part) continue;
    part->setBoost(part->getBoost() * static_cast<double>(one.weight));
    any->add(part, Lucene::BooleanClause::SHOULD);
  }
  return any->getClauses().empty() ? Lucene::QueryPtr() : any;
}

Lucene::QueryPtr RescoringQueryParser::getFieldQuery(const Lucene::String& fieldName, const Lucene::String& queryText) {
  return in_fields(fieldName, [&](const auto& one) { return Lucene::QueryParser::getFieldQuery(one, queryText); });
}

Lucene::QueryPtr RescoringQueryParser::getFieldQuery(const Lucene::String& fieldName, const Lucene::String& queryText,
                                                     std::int32_t slop) {
  return in_fields(fieldName,
                   [&](const auto& one) { return Lucene::QueryParser::getFieldQuery(one, queryText, slop); });
}

Lucene::QueryPtr RescoringQueryParser::getRangeQuery(const Lucene::String& fieldName, const Lucene::String& part1,
                                                     const Lucene::String& part2, bool inclusive) {
  return in_fields(fieldName,
                   [&](const auto& one) { return Lucene::QueryParser::getRangeQuery(one, part1, part2, inclusive); });
}

Lucene::QueryPtr RescoringQueryParser::getWildcardQuery(const Lucene::String& fieldName,
                                                        const Lucene::String& termStr) {
  return in_fields(fieldName, [&](const auto& one) { return Lucene::QueryParser::getWildcardQuery(one, termStr); });
}

Lucene::QueryPtr RescoringQueryParser::getPrefixQuery(const Lucene::String& fieldName, const Lucene::String& termStr) {
  return in_fields(fieldName, [&](const auto& one) { return Lucene::QueryParser::getPrefixQuery(one, termStr); });
}

Lucene::QueryPtr RescoringQueryParser::getFuzzyQuery(const Lucene::String& fieldName, const Lucene::String& termStr,
                                                     double minSimilarity) {
  return in_fields(fieldName,
                   [&](const auto& one) { return Lucene::QueryParser::getFuzzyQuery(one, termStr, minSimilarity); });
}

}  // namespace relucent
