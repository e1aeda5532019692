#include "plugin/lucene/bm25/other_analyzer.h"

#include "plugin/lucene/analysis/analyzer_places.h"

namespace relucent::bm25 {
namespace {

std::vector<TermPlace> terms_by(AnalyzerKind analyzer, const std::string& text) {
  FirstStageConfig first_stage;
  first_stage.analyzer = analyzer;
  return term_places(first_stage, text);
}

}  // namespace

OtherAnalyzer::Terms OtherAnalyzer::terms_of_others(const std::string& text) const {
  std::unordered_map<std::size_t, std::string> own;  // by the word's beginning
  for (TermPlace& one : terms_by(recorded_, text)) own.emplace(one.place.begin, std::move(one.term));
  Terms others;
  for (const AnalyzerKind other : {AnalyzerKind::english, AnalyzerKind::standard, AnalyzerKind::whitespace}) {
    if (other == recorded_) continue;
    for (TermPlace& one : terms_by(other, text)) {
      const auto same_word = own.find(one.place.begin);
      if (same_word != own.end() && same_word->second != one.term)
        others.emplace(std::move(one.term), same_word->second);
    }
  }
  return others;
}

std::optional<std::string> OtherAnalyzer::index_term(const std::string& term) {
  const auto found_in = [&term](const Terms& others) {
    const auto found = others.find(term);
    return found == others.end() ? std::nullopt : std::optional(found->second);
  };
  if (text_.empty()) return found_in(terms_of_others(term));
  if (!own_) {
    own_.emplace();
    for (TermPlace& one : terms_by(recorded_, text_)) own_->insert(std::move(one.term));
  }
  if (own_->contains(term)) return std::nullopt;
  if (!others_) others_ = terms_of_others(text_);
  return found_in(*others_);
}

}  // namespace relucent::bm25
