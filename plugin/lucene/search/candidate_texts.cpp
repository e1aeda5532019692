#include "plugin/lucene/search/candidate_texts.h"

#include <IndexSearcher.h>

#include <algorithm>
#include <numeric>
#include <typeinfo>

#include "plugin/index_format/token_ids.h"
#include "plugin/lucene/index/stored_fields.h"
#include "plugin/second_stage/model_text.h"
#include "relucent/bm25.h"
#include "relucent/rescoring_searcher.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

std::optional<CandidateTexts::TokensPlace> read_tokens(const std::optional<std::string>& bytes,
                                                       std::vector<std::int32_t>& ids) {
  CandidateTexts::TokensPlace place{ids.size()};
  if (!bytes || !read_token_ids(*bytes, ids, place.all)) return std::nullopt;
  place.size = ids.size() - place.begin;
  return place;
}

/// Past a searcher whose doc() is its reader's; another class may override it.
StoredFields stored_fields_of(const Lucene::SearcherPtr& searcher) {
  const std::type_info& type = typeid(*searcher);
  const bool reads_its_reader =
      type == typeid(Lucene::IndexSearcher) || type == typeid(BM25Searcher) || type == typeid(RescoringSearcher);
  if (!reads_its_reader) return StoredFields(searcher);
  return StoredFields(boost::static_pointer_cast<Lucene::IndexSearcher>(searcher)->getIndexReader());
}

}  // namespace

std::optional<CandidateTokens> CandidateTexts::tokens(std::size_t hit) const {
  const auto& place = token_places[hit];
  if (!place) return std::nullopt;
  return CandidateTokens{std::span(token_ids).subspan(place->begin, place->size), place->all};
}

void fetch_texts(const Lucene::SearcherPtr& searcher, std::span<const FirstStageHit> hits,
                 std::span<const std::size_t> wanted_hits, const IndexConfig& fields, bool with_token_ids,
                 const StopSignal& stop, CandidateTexts& texts) {
  texts.fetched.resize(hits.size());
  texts.ids.resize(hits.size());
  texts.texts.resize(hits.size());
  texts.parts.resize(hits.size());
  texts.token_places.resize(hits.size());
  std::vector<std::size_t> by_document;
  for (const std::size_t hit : wanted_hits) {
    if (!texts.fetched[hit]) by_document.push_back(hit);
  }
  if (by_document.empty()) return;
  std::sort(by_document.begin(), by_document.end(),
            [&](std::size_t a, std::size_t b) { return hits[a].document < hits[b].document; });

  using Values = WantedField::Values;
  std::vector<WantedField> wanted = {{to_lucene(fields.id_field), Values::first_text}};
  const std::vector<std::string> text_fields = fields.fields_read();
  for (const std::string& name : text_fields) wanted.push_back({to_lucene(name), Values::all_texts});
  if (with_token_ids) wanted.push_back({to_lucene(kTokenIdsField), Values::first_bytes});
  const StoredFields stored = stored_fields_of(searcher);
  for (const std::size_t i : by_document) {
    auto values = stored.read(hits[i].document, wanted, stop);
    texts.ids[i] = std::move(values[0]).value_or("");
    ModelText text = join_fields(std::span(values).subspan(1, text_fields.size()), stop);
    texts.texts[i] = std::move(text.text);
    texts.parts[i] = std::move(text.parts);
    if (with_token_ids) texts.token_places[i] = read_tokens(values.back(), texts.token_ids);
    texts.fetched[i] = true;
  }
}

}  // namespace relucent
