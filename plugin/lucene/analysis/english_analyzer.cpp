#include "relucent/english_analyzer.h"

#include <Reader.h>
#include <StandardAnalyzer.h>
#include <WhitespaceAnalyzer.h>

#include "plugin/lucene/analysis/chain_token_stream.h"
#include "relucent/analysis.h"
#include "relucent/error.h"

namespace relucent {
namespace {

void read_all(const Lucene::ReaderPtr& reader, ChainTokenStream& stream) {
  std::wstring text;
  std::size_t size = 0;
  for (std::size_t room = 4096;; room *= 2) {
    text.resize(size + room);
    std::int32_t got = 0;
    while (size < text.size() &&
           (got = reader->read(text.data(), static_cast<std::int32_t>(size),
                               static_cast<std::int32_t>(text.size() - size))) != Lucene::Reader::READER_EOF) {
      size += static_cast<std::size_t>(got);
    }
    if (got == Lucene::Reader::READER_EOF) break;
  }
  stream.set_text(text.data(), size);
}

}  // namespace

Lucene::TokenStreamPtr LanguageAnalyzer::tokenStream(const Lucene::String&, const Lucene::ReaderPtr& reader) {
  auto stream = Lucene::newLucene<ChainTokenStream>(language_);
  read_all(reader, *stream);
  return stream;
}

Lucene::TokenStreamPtr LanguageAnalyzer::reusableTokenStream(const Lucene::String&, const Lucene::ReaderPtr& reader) {
  auto stream = boost::dynamic_pointer_cast<ChainTokenStream>(getPreviousTokenStream());
  if (!stream) {
    stream = Lucene::newLucene<ChainTokenStream>(language_);
    setPreviousTokenStream(stream);
  }
  read_all(reader, *stream);
  return stream;
}

Lucene::AnalyzerPtr make_analyzer(const Config& config) {
  FirstStageConfig first_stage = config.first_stage;
  first_stage.analyzer = analyzer_of(config.index, config.first_stage);
  return make_analyzer(first_stage);
}

Lucene::AnalyzerPtr make_analyzer(const FirstStageConfig& first_stage) {
  if (first_stage.analyzer == AnalyzerKind::english) return Lucene::newLucene<EnglishAnalyzer>();
  if (can_analyze(first_stage.analyzer)) return Lucene::newLucene<LanguageAnalyzer>(first_stage.analyzer);
  if (first_stage.analyzer == AnalyzerKind::whitespace) return Lucene::newLucene<Lucene::WhitespaceAnalyzer>();
  if (first_stage.analyzer == AnalyzerKind::standard) {
    return Lucene::newLucene<Lucene::StandardAnalyzer>(Lucene::LuceneVersion::LUCENE_30);
  }
  throw Error(ErrorKind::usage, "[first_stage] analyzer", "unknown analyzer",
              "use english, another language, simple, standard or whitespace");
}

}  // namespace relucent
