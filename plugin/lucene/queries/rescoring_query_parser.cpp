#include "relucent/rescoring_query_parser.h"

#include <BooleanQuery.h>
#include <FastCharStream.h>
#include <StringReader.h>
#include <fmt/xchar.h>

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

/// A limit on parentheses in each other: Lucene++'s parser, and what reads its queries, recurse once per level.
constexpr int kMostParentheses = 256;

}  // namespace

RescoringQueryParser::RescoringQueryParser(Lucene::LuceneVersion::Version matchVersion,
                                           const Lucene::String& defaultField, const Lucene::AnalyzerPtr& queryAnalyzer)
    : Lucene::QueryParser(matchVersion, defaultField, queryAnalyzer) {}
RescoringQueryParser::RescoringQueryParser(const Config& config)
    : RescoringQueryParser(Lucene::LuceneVersion::LUCENE_CURRENT, to_lucene(config.index.contents_field),
                           make_analyzer(config)) {}
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

}  // namespace relucent
