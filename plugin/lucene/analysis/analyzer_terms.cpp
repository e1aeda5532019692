#include "plugin/lucene/analysis/analyzer_terms.h"

#include <Analyzer.h>
#include <PositionIncrementAttribute.h>
#include <StringReader.h>
#include <TermAttribute.h>
#include <TokenStream.h>

#include <string>
#include <vector>

#include "plugin/index_format/analysis/english_terms.h"
#include "plugin/index_format/analysis/languages/language_chain.h"
#include "plugin/index_format/analysis/languages/language_terms.h"
#include "relucent/english_analyzer.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// The terms that one of Lucene++'s analyzers produces.
class AnalyzerTerms : public analysis::TermSource {
 public:
  explicit AnalyzerTerms(Lucene::AnalyzerPtr analyzer) : analyzer_(std::move(analyzer)) {}

  std::span<const analysis::Term> terms_of(std::string_view text) override {
    terms_.clear();
    texts_.clear();
    const auto reader = Lucene::newLucene<Lucene::StringReader>(to_lucene(text));
    const auto stream = analyzer_->reusableTokenStream(L"", reader);
    const auto term = stream->addAttribute<Lucene::TermAttribute>();
    const auto position = stream->addAttribute<Lucene::PositionIncrementAttribute>();
    stream->reset();
    while (stream->incrementToken()) {
      texts_.push_back(to_utf8(Lucene::String(term->termBufferArray(), static_cast<std::size_t>(term->termLength()))));
      terms_.push_back({{}, analysis::hash_of(texts_.back()), position->getPositionIncrement()});
    }
    stream->end();
    for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i].text = texts_[i];
    return terms_;
  }

 private:
  Lucene::AnalyzerPtr analyzer_;
  std::vector<std::string> texts_;
  std::vector<analysis::Term> terms_;
};

}  // namespace

std::unique_ptr<analysis::TermSource> make_term_source(const FirstStageConfig& first_stage) {
  if (first_stage.analyzer == AnalyzerKind::english) return std::make_unique<analysis::EnglishTerms>();
  if (analysis::has_chain(first_stage.analyzer)) {
    return std::make_unique<analysis::LanguageTerms>(analysis::make_chain(first_stage.analyzer));
  }
  return std::make_unique<AnalyzerTerms>(make_analyzer(first_stage));
}

}  // namespace relucent
