#include "plugin/lucene/bm25/query_expansion.h"

#include <BooleanClause.h>
#include <BooleanQuery.h>
#include <ScoreDoc.h>
#include <Term.h>
#include <TermQuery.h>
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "plugin/lucene/analysis/analyzer_terms.h"
#include "plugin/lucene/index/stored_fields.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

constexpr std::size_t kShortestTerm = 2, kLongestTerm = 20;  // UTF-16 units
constexpr float kMostDocuments = 0.1F;                       // share of them

bool is_ascii_letter_or_digit(wchar_t c) { return (c >= L'a' && c <= L'z') || (c >= L'0' && c <= L'9'); }

std::size_t utf16_length(const Lucene::String& term) {
  return term.size() +
         static_cast<std::size_t>(std::ranges::count_if(term, [](wchar_t c) { return c > wchar_t{0xFFFF}; }));
}

}  // namespace

QueryExpansion::QueryExpansion(const Lucene::IndexReaderPtr& reader, const FirstStageConfig& first_stage,
                               const IndexConfig& fields, std::string place)
    : reader_(reader),
      first_stage_(first_stage),
      text_fields_(fields.fields_read()),
      contents_(to_lucene(fields.contents_field)),
      place_(std::move(place)) {
  first_stage_.analyzer = analyzer_of(fields, first_stage);
}

bool QueryExpansion::can_expand(const DisjunctionWeight& query) const {
  return std::ranges::all_of(query.terms(), [this](const TermWeightPtr& term) {
    return term->term()->field() == contents_ && term->boost() >= 0;
  });
}

Lucene::QueryPtr QueryExpansion::expanded(const DisjunctionWeight& query, const Lucene::TopDocsPtr& hits) const {
  WeightedTerms words;
  for (const TermWeightPtr& term : query.terms()) words[term->term()->text()] = term->boost();
  const auto expanded = Lucene::newLucene<Lucene::BooleanQuery>(true);
  const WeightedTerms model =
      relevance_model(std::move(words), read(hits), static_cast<std::size_t>(first_stage_.rm3_terms),
                      static_cast<float>(first_stage_.rm3_original_weight));
  for (const auto& [text, weight] : model) {
    const auto term = Lucene::newLucene<Lucene::TermQuery>(Lucene::newLucene<Lucene::Term>(contents_, text));
    term->setBoost(weight);
    // Not add(), which limits the number of clauses.
    expanded->getClauses().add(Lucene::newLucene<Lucene::BooleanClause>(term, Lucene::BooleanClause::SHOULD));
  }
  return expanded;
}

std::vector<FeedbackDocument> QueryExpansion::read(const Lucene::TopDocsPtr& hits) const {
  std::vector<WantedField> wanted;
  for (const std::string& field : text_fields_) wanted.push_back({to_lucene(field), WantedField::Values::all_texts});
  const StoredFields stored(reader_);
  const auto analyzer = make_term_source(first_stage_);
  const auto count = static_cast<std::size_t>(first_stage_.rm3_terms);
  // The documents share many terms.
  std::unordered_map<std::wstring, bool> known;
  const auto may_take_known = [&](const std::wstring& term) {
    const auto [found, added] = known.try_emplace(term, false);
    if (added) found->second = may_take(term);
    return found->second;
  };
  std::vector<FeedbackDocument> documents;
  bool any_text = hits->scoreDocs.empty();
  for (const auto& hit : hits->scoreDocs) {
    WeightedTerms terms;
    for (const auto& text : stored.read(hit->doc, wanted, StopSignal())) {
      if (!text) continue;
      any_text = true;
      for (const auto& term : analyzer->terms_of(*text)) ++terms[to_lucene(term.text)];
    }
    documents.push_back({static_cast<float>(hit->score), best_terms(terms, count, may_take_known)});
  }
  if (!any_text) {
    throw Error(
        ErrorKind::usage, place_,
        fmt::format("no hit has a stored text in {}, from which [first_stage] rm3 takes terms", join(text_fields_)),
        "set [index] text_field to the stored field with the documents' text, or rm3 to false");
  }
  return documents;
}

bool QueryExpansion::may_take(const Lucene::String& term) const {
  const std::size_t length = utf16_length(term);
  if (length < kShortestTerm || length > kLongestTerm) return false;
  if (first_stage_.rm3_ascii_terms && !std::ranges::all_of(term, is_ascii_letter_or_digit)) return false;
  const auto having = static_cast<float>(reader_->docFreq(Lucene::newLucene<Lucene::Term>(contents_, term)));
  return !(having / static_cast<float>(reader_->numDocs()) > kMostDocuments);
}

}  // namespace relucent::bm25
