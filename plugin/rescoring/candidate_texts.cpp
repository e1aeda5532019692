#include "rescoring/candidate_texts.h"

#include <FieldSelector.h>

#include <algorithm>
#include <numeric>

#include "index/token_ids.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// Loads some fields and steps over all others.
class SomeFields : public Lucene::FieldSelector {
 public:
  explicit SomeFields(std::vector<Lucene::String> names) : names_(std::move(names)) {}

  FieldSelectorResult accept(const Lucene::String& field) override {
    return std::find(names_.begin(), names_.end(), field) != names_.end() ? SELECTOR_LOAD : SELECTOR_NO_LOAD;
  }

 private:
  std::vector<Lucene::String> names_;
};

std::optional<CandidateTexts::TokensPlace> read_tokens(const Lucene::DocumentPtr& document, const Lucene::String& field,
                                                       std::vector<std::int32_t>& ids) {
  const Lucene::FieldablePtr stored = document->getFieldable(field);
  if (!stored || !stored->isBinary() || !stored->getBinaryValue()) return std::nullopt;
  const auto* bytes = reinterpret_cast<const char*>(stored->getBinaryValue().get()) + stored->getBinaryOffset();
  CandidateTexts::TokensPlace place{ids.size()};
  if (!read_token_ids({bytes, static_cast<std::size_t>(stored->getBinaryLength())}, ids, place.all))
    return std::nullopt;
  place.size = ids.size() - place.begin;
  return place;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string::npos; }

}  // namespace

std::optional<CandidateTokens> CandidateTexts::tokens(std::size_t hit) const {
  const auto& place = token_places[hit];
  if (!place) return std::nullopt;
  return CandidateTokens{std::span(token_ids).subspan(place->begin, place->size), place->all};
}

CandidateTexts fetch_texts(const Lucene::SearcherPtr& searcher, std::span<const FirstStageHit> hits,
                           const IndexConfig& fields, bool with_token_ids, const StopSignal& stop) {
  std::vector<std::size_t> by_document(hits.size());
  std::iota(by_document.begin(), by_document.end(), std::size_t{0});
  std::sort(by_document.begin(), by_document.end(),
            [&](std::size_t a, std::size_t b) { return hits[a].document < hits[b].document; });

  std::vector<Lucene::String> names = {to_lucene(fields.id_field), to_lucene(fields.text_field)};
  const Lucene::String token_ids_field = to_lucene(kTokenIdsField);
  if (with_token_ids) names.push_back(token_ids_field);
  const auto selector = Lucene::newLucene<SomeFields>(std::move(names));
  CandidateTexts result;
  result.ids.resize(hits.size());
  result.texts.resize(hits.size());
  result.token_places.resize(hits.size());
  for (const std::size_t i : by_document) {
    stop.throw_if_due("reading the stored texts");
    const Lucene::DocumentPtr document = searcher->doc(hits[i].document, selector);
    result.ids[i] = stored_text(document, fields.id_field).value_or("");
    result.texts[i] = stored_text(document, fields.text_field).value_or("");
    if (is_blank(result.texts[i])) result.texts[i].clear();
    if (with_token_ids) result.token_places[i] = read_tokens(document, token_ids_field, result.token_ids);
  }
  return result;
}

}  // namespace relucent
