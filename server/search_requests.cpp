#include "server/search_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"
#include "server/answer.h"
#include "server/json.h"
#include "server/refusal.h"
#include "server/result_json.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

constexpr std::size_t kSnippetBytes = 320;
constexpr std::size_t kIdBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxKeys = 100;

void read_texts(const Fields& fields, SearchBody& request) {
  const Json* value = fields.find("texts");
  const std::string name = value == nullptr ? "snippet" : value->is_string() ? value->get<std::string>() : "";
  if (name != "snippet" && name != "passage" && name != "full" && name != "none") {
    throw not_valid("`texts` must be \"none\", \"snippet\", \"passage\" or \"full\"");
  }
  request.order.texts = name == "full" ? HitTexts::whole : name == "none" ? HitTexts::none : HitTexts::beginnings;
  request.whole_passages = name == "passage" || name == "full";
}

/// An array of strings.
std::vector<std::string> names_in(const Fields& fields, const char* name) {
  std::vector<std::string> names;
  const Json* const value = fields.find(name);
  if (value == nullptr) return names;
  const bool are_strings =
      value->is_array() && std::ranges::all_of(*value, [](const Json& one) { return one.is_string(); });
  if (!are_strings) throw not_valid(fmt::format("`{}` must be an array of strings", name));
  if (value->size() > kMaxKeys) throw too_much(fmt::format("`{}` has more than {} keys", name, kMaxKeys));
  return value->get<std::vector<std::string>>();
}

/// `filter`, `facets`, `fields` and `search_fields`.
void read_metadata_keys(const Fields& fields, SearchOrder& order) {
  if (const Json* const filter = fields.find("filter")) order.filter = filter->dump();
  order.facets = names_in(fields, "facets");
  const Json* const wanted = fields.find("fields");
  order.all_fields = wanted != nullptr && *wanted == "all";
  if (!order.all_fields) order.fields = names_in(fields, "fields");
  order.search_fields = search_fields_of(fields);
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

Answer hit_with_texts(const SearchHit& hit, const SearchResult& result, const SearchBody& request) {
  Answer json = hit_json(hit, result, Paths::left_out);
  const HitTexts texts = request.order.texts;
  if (texts == HitTexts::beginnings && !(request.whole_passages && hit.passage)) json["snippet"] = snippet_of(hit);
  if (texts == HitTexts::whole) json["text"] = hit.text;
  if (texts == HitTexts::none || !hit.passage) return json;
  if (request.whole_passages) {
    add_passage_text(hit, json);
  } else {
    json["passage"]["ends_field"] = hit.passage->ends_field;
  }
  return json;
}

}  // namespace

std::vector<std::string> search_fields_of(const Fields& fields) { return names_in(fields, "search_fields"); }

SearchBody parse_search(std::string_view body, const ServerConfig& limits) {
  const JsonTree json = parse_object(body);
  const Fields fields(*json);
  SearchBody request;
  SearchOrder& order = request.order;
  order.query = query_of(fields, limits);
  if (is_blank(order.query)) throw not_valid("`query` is empty");
  request.index = index_of(fields);
  if (fields.find("id") != nullptr) order.id = fields.text("id", kIdBytes);
  order.explain = fields.boolean("explain", false);
  order.hits = static_cast<std::int32_t>(fields.whole_number("k", std::min(10, limits.hits), 1, limits.hits));
  order.offset = static_cast<std::int32_t>(fields.whole_number("offset", 0, 0, limits.hits - 1));
  if (order.offset > limits.hits - order.hits) {
    throw too_much(fmt::format("`offset` and `k` together are above {} ([server] hits)", limits.hits));
  }
  if (order.explain && (order.id.empty() ? order.hits : 1) > limits.explained_hits) {
    throw too_much(fmt::format("`explain` is possible for `k` up to {} ([server] explained_hits), or for one `id`",
                               limits.explained_hits));
  }
  read_texts(fields, request);
  read_metadata_keys(fields, order);
  order.rescore = fields.boolean("rescore", true);
  if (const Json* statistics = fields.find("statistics")) {
    order.statistics = parse_statistics(*statistics);
    if (order.statistics->fields.empty()) throw not_valid("`statistics` names no field");
  }
  request.timeout_ms = fields.whole_number("timeout_ms", 0, 0, limits.request_timeout.count());
  return request;
}

std::string search_answer(const SearchBody& request, const SearchResult& result) {
  Answer json = result_json(result, Paths::left_out);
  json["hits"] = Answer::array();
  for (const SearchHit& hit : result.hits) json["hits"].push_back(hit_with_texts(hit, result, request));
  json["milliseconds"] = milliseconds_json(result);
  return to_text(json);
}

}  // namespace relucent::server
