#include "server/result_json.h"

#include <utility>

#include "base/json_tree.h"
#include "base/nesting.h"
#include "relucent/times.h"
#include "server/json.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

std::string message(const std::string& text, Paths paths) { return paths == Paths::shown ? text : without_paths(text); }

Answer explanation_json(const SearchExplanation& explanation, Paths paths) {
  Answer json{{"value", as_json(explanation.value)}, {"description", message(explanation.description, paths)}};
  json["details"] = Answer::array();
  for (const SearchExplanation& detail : explanation.details)
    json["details"].push_back(explanation_json(detail, paths));
  return json;
}

Answer stages_json(const std::vector<StageReport>& stages, Paths paths) {
  Answer json = Answer::array();
  for (const StageReport& stage : stages) {
    json.push_back({{"scorer", message(stage.scorer, paths)},
                    {"rescored", stage.rescored},
                    {"milliseconds",
                     {{"fetch", in_milliseconds(stage.times.fetch)},
                      {"tokenize", in_milliseconds(stage.times.tokenize)},
                      {"encode", in_milliseconds(stage.times.encode)},
                      {"device", in_milliseconds(stage.times.device)},
                      {"combine", in_milliseconds(stage.times.combine)}}}});
    if (stage.cached > 0) json.back()["cached"] = stage.cached;
  }
  return json;
}

Answer facets_json(const std::vector<FacetCounts>& facets) {
  Answer json = Answer::object();
  for (const FacetCounts& facet : facets) {
    Answer counts = Answer::array();
    for (const auto& [value, documents] : facet.values) counts.push_back({{"value", value}, {"count", documents}});
    json[facet.key] = {{"distinct", facet.all_values}, {"counts", std::move(counts)}};
  }
  return json;
}

}  // namespace

Answer object_json(std::string_view text) {
  // An Answer looks for each key among those before it. An object of very many does not keep their order.
  constexpr std::size_t kMostInOrder = 2000;
  if (too_deep_in_json(text)) return Answer::object();
  if (!too_many_in_json(text, kMostInOrder)) {
    Answer json = Answer::parse(text);
    return json.is_object() ? json : Answer::object();
  }
  JsonTree json;
  json.read(text);
  return json->is_object() ? Answer::verbatim(json->dump()) : Answer::object();
}

Answer document_json(const StoredDocument& document) {
  return {{"id", document.id}, {"text", document.text}, {"metadata", object_json(document.metadata)}};
}

Answer result_json(const SearchResult& result, Paths paths) {
  Answer json{{"query", result.query}, {"total_hits", result.total_hits}, {"total_is_exact", result.total_is_exact}};
  if (result.rescoring) json["status"] = to_string(result.status);
  json["rescored"] = result.rescored;
  json["without_text"] = result.without_text;
  json["truncated"] = result.truncated;
  if (result.encoded > 0) json["encoded"] = result.encoded;
  if (result.cached > 0) json["cached"] = result.cached;
  json["query_truncated"] = result.query_truncated;
  json["degraded"] = result.degraded;
  if (!result.reason.empty()) json["reason"] = message(result.reason, paths);
  if (result.no_words) json["note"] = "the query has only stop words and punctuation, which are not indexed";
  if (result.stages.size() > 1) json["stages"] = stages_json(result.stages, paths);
  if (!result.facets.empty()) json["facets"] = facets_json(result.facets);
  return json;
}

Answer hit_json(const SearchHit& hit, const SearchResult& result, Paths paths) {
  Answer json{{"rank", hit.rank},
              {"id", hit.id},
              {"score", as_json(hit.score)},
              {"logit", hit.logit ? Answer(as_json(*hit.logit)) : Answer(nullptr)},
              {"first_stage_rank", hit.first_stage_rank},
              {"first_stage_score", as_json(hit.first_stage_score)},
              {"status", to_string(hit.status)},
              {"truncated", hit.truncated},
              {"passage", nullptr}};
  if (result.stages.size() > 1) {
    json["stage_logits"] = Answer::array();
    for (const float logit : hit.stage_logits) json["stage_logits"].push_back(as_json(logit));
  }
  if (hit.passage) {
    json["passage"] = {{"field", hit.passage->field}, {"begin", hit.passage->begin}, {"end", hit.passage->end}};
  }
  if (!hit.fields.empty()) json["fields"] = object_json(hit.fields);
  if (hit.explanation) json["explanation"] = explanation_json(*hit.explanation, paths);
  return json;
}

void add_passage_text(const SearchHit& hit, Answer& json) {
  if (!hit.passage) return;
  json["passage"]["ends_field"] = hit.passage->ends_field;
  json["passage"]["text"] = hit.passage->text;
}

Answer milliseconds_json(const SearchResult& result) {
  const StageTimes& times = result.times;
  return {{"parse", in_milliseconds(times.parse)},     {"first_stage", in_milliseconds(times.first_stage)},
          {"fetch", in_milliseconds(times.fetch)},     {"tokenize", in_milliseconds(times.tokenize)},
          {"encode", in_milliseconds(times.encode)},   {"device", in_milliseconds(times.device)},
          {"combine", in_milliseconds(times.combine)}, {"passages", in_milliseconds(times.passages)},
          {"total", in_milliseconds(result.total)}};
}

}  // namespace relucent::server
