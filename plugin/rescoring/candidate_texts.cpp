#include "plugin/rescoring/candidate_texts.h"

#include <algorithm>
#include <numeric>

#include "plugin/index/stored_fields.h"
#include "plugin/index/token_ids.h"
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

bool is_blank(std::string_view text, const StopSignal& stop) {
  constexpr std::size_t piece = 64 << 10;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (text.substr(0, piece).find_first_not_of(" \t\r\n\f\v") != std::string_view::npos) return false;
    stop.throw_if_due("reading the stored texts");
  }
  return true;
}

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

  using Values = WantedField::Values;
  std::vector<WantedField> wanted = {{to_lucene(fields.id_field), Values::first_text},
                                     {to_lucene(fields.text_field), Values::all_texts}};
  if (with_token_ids) wanted.push_back({to_lucene(kTokenIdsField), Values::first_bytes});
  const StoredFields stored(searcher);
  CandidateTexts result;
  result.ids.resize(hits.size());
  result.texts.resize(hits.size());
  result.token_places.resize(hits.size());
  for (const std::size_t i : by_document) {
    auto values = stored.read(hits[i].document, wanted, stop);
    result.ids[i] = std::move(values[0]).value_or("");
    result.texts[i] = std::move(values[1]).value_or("");
    if (is_blank(result.texts[i], stop)) result.texts[i].clear();
    if (with_token_ids) result.token_places[i] = read_tokens(values[2], result.token_ids);
  }
  return result;
}

}  // namespace relucent
