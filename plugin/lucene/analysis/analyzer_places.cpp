#include "plugin/lucene/analysis/analyzer_places.h"

#include <Analyzer.h>
#include <OffsetAttribute.h>
#include <StringReader.h>
#include <TermAttribute.h>
#include <TokenStream.h>

#include <string>

#include "plugin/index_format/analysis/term_places.h"
#include "relucent/analysis.h"
#include "relucent/english_analyzer.h"
#include "relucent/stored_text.h"

namespace relucent {

std::vector<TermPlace> term_places(const FirstStageConfig& first_stage, std::string_view text) {
  if (can_analyze(first_stage.analyzer)) return analysis::places_of_terms(first_stage.analyzer, text);
  static_assert(sizeof(wchar_t) == 4, "Lucene++ counts its characters, which here are code points");
  const auto stream =
      make_analyzer(first_stage)->tokenStream(L"", Lucene::newLucene<Lucene::StringReader>(to_lucene(text)));
  const auto term = stream->addAttribute<Lucene::TermAttribute>();
  const auto place = stream->addAttribute<Lucene::OffsetAttribute>();
  std::vector<TermPlace> terms;
  stream->reset();
  while (stream->incrementToken()) {
    terms.push_back({to_utf8(Lucene::String(term->termBufferArray(), static_cast<std::size_t>(term->termLength()))),
                     {static_cast<std::size_t>(place->startOffset()), static_cast<std::size_t>(place->endOffset())}});
  }
  stream->end();
  return terms;
}

}  // namespace relucent
