#include "server/search_requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "server/json.h"
#include "server/refusal.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

constexpr std::size_t kSnippetBytes = 320;
constexpr std::size_t kIdBytes = std::size_t{64} << 10;

void read_texts(const Fields& fields, SearchRequest& request) {
  const Json* value = fields.find("texts");
  const std::string name = value == nullptr ? "snippet" : value->is_string() ? value->get<std::string>() : "";
  if (name != "snippet" && name != "passage" && name != "full" && name != "none") {
    throw not_valid("`texts` must be \"none\", \"snippet\", \"passage\" or \"full\"");
  }
  request.order.texts = name == "full"   ? SearchSession::Texts::whole
                        : name == "none" ? SearchSession::Texts::none
                                         : SearchSession::Texts::beginnings;
  request.whole_passages = name == "passage" || name == "full";
}

/// The beginning of the best passage, or of the text.
std::string snippet_of(const SearchHit& hit) {
  const std::string_view source = hit.passage ? hit.passage->text : hit.text;
  std::string_view beginning = utf8_prefix(source, kSnippetBytes);
  if (beginning.size() == source.size()) return std::string(beginning);
  if (const auto space = beginning.rfind(' '); space != std::string_view::npos && space > kSnippetBytes / 2) {
    beginning = beginning.substr(0, space);
  }
  return std::string(beginning) + "…";
}

Answer tree(const SearchExplanation& explanation) {
  Answer json{{"value", as_json(explanation.value)}, {"description", without_paths(explanation.description)}};
  if (explanation.details.empty()) return json;
  json["details"] = Answer::array();
  for (const SearchExplanation& detail : explanation.details) json["details"].push_back(tree(detail));
  return json;
}

Answer hit_json(const SearchHit& hit, const SearchRequest& request) {
  const SearchSession::Texts texts = request.order.texts;
  Answer json{{"rank", hit.rank},
              {"id", hit.id},
              {"score", as_json(hit.score)},
              {"logit", hit.logit ? Answer(as_json(*hit.logit)) : Answer(nullptr)},
              {"first_stage_rank", hit.first_stage_rank},
              {"first_stage_score", as_json(hit.first_stage_score)},
              {"status", hit.status},
              {"truncated", hit.truncated}};
  if (hit.stage_logits.size() > 1) {
    json["stage_logits"] = Answer::array();
    for (const float logit : hit.stage_logits) json["stage_logits"].push_back(as_json(logit));
  }
  const bool snippet = !request.whole_passages || !hit.passage;
  if (texts == SearchSession::Texts::beginnings && snippet) json["snippet"] = snippet_of(hit);
  if (texts == SearchSession::Texts::whole) json["text"] = hit.text;
  json["passage"] = nullptr;
  if (hit.passage) {
    json["passage"] = {{"field", hit.passage->field}, {"begin", hit.passage->begin}, {"end", hit.passage->end}};
    if (texts != SearchSession::Texts::none) {
      json["passage"]["ends_field"] = hit.passage->ends_field;
      if (request.whole_passages) json["passage"]["text"] = hit.passage->text;
    }
  }
  if (hit.explanation) json["explanation"] = tree(*hit.explanation);
  return json;
}

}  // namespace

SearchRequest parse_search(std::string_view body, const ServerConfig& limits) {
  const Json json = parse_object(body);
  const Fields fields(json);
  SearchRequest request;
  SearchOrder& order = request.order;
  order.query = query_of(fields, limits);
  if (order.query.find_first_not_of(" \t\r\n\v\f") == std::string::npos) throw not_valid("`query` is empty");
  SearchSession::Selection& selection = order.selection;
  if (fields.find("id") != nullptr) selection.id = fields.text("id", kIdBytes);
  selection.explain = fields.boolean("explain", false);
  order.hits = static_cast<std::int32_t>(fields.whole_number("k", std::min(10, limits.hits), 1, limits.hits));
  if (selection.explain && (selection.id.empty() ? order.hits : 1) > limits.explained_hits) {
    throw too_much(fmt::format("`explain` is possible for `k` up to {} ([server] explained_hits), or for one `id`",
                               limits.explained_hits));
  }
  read_texts(fields, request);
  order.rescore = fields.boolean("rescore", true);
  if (const Json* statistics = fields.find("statistics")) {
    order.statistics = parse_statistics(*statistics);
    if (order.statistics->fields.empty()) throw not_valid("`statistics` names no field");
  }
  request.timeout_ms = fields.whole_number("timeout_ms", 0, 0, limits.request_timeout.count());
  return request;
}

std::string search_answer(const SearchRequest& request, const SearchResult& result) {
  Answer json{{"query", result.query}, {"total_hits", result.total_hits}};
  if (!result.status.empty()) json["status"] = result.status;
  json["rescored"] = result.rescored;
  if (result.cached > 0) json["cached"] = result.cached;
  json["without_text"] = result.without_text;
  json["truncated"] = result.truncated;
  json["query_truncated"] = result.query_truncated;
  json["degraded"] = result.degraded;
  if (!result.reason.empty()) json["reason"] = without_paths(result.reason);
  if (result.no_words) json["note"] = "the query has only stop words and punctuation, which are not indexed";
  json["hits"] = Answer::array();
  for (const SearchHit& hit : result.hits) json["hits"].push_back(hit_json(hit, request));
  const StageTimes& times = result.times;
  json["milliseconds"] = {
      {"parse", in_milliseconds(times.parse)},     {"first_stage", in_milliseconds(times.first_stage)},
      {"fetch", in_milliseconds(times.fetch)},     {"tokenize", in_milliseconds(times.tokenize)},
      {"encode", in_milliseconds(times.encode)},   {"device", in_milliseconds(times.device)},
      {"combine", in_milliseconds(times.combine)}, {"passages", in_milliseconds(times.passages)},
      {"total", in_milliseconds(result.total)}};
  return to_text(json);
}

}  // namespace relucent::server
