#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "server/json.h"
#include "server/openapi.h"

namespace relucent::server {
namespace {

// JSON Schema 2020-12. Requests and answers may have other members as well. `null` stands for an absent member.
constexpr std::string_view kRequests = R"json({
"Query": {"type": "string", "description": "At most 64 KiB of UTF-8"},
"Timeout": {"type": ["integer", "null"], "minimum": 0,
            "description": "Milliseconds from the request's first byte to its answer; 0: the server's own limit"},
"RerankRequest": {"anyOf": [{"$ref": "#/components/schemas/TextsRequest"},
                            {"$ref": "#/components/schemas/DocumentsOnlyRequest"}]},
"TextsRequest": {
  "description": "The form of text-embeddings-inference",
  "type": "object", "required": ["query", "texts"],
  "properties": {
    "query": {"$ref": "#/components/schemas/Query"},
    "texts": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "raw_scores": {"type": ["boolean", "null"], "default": false, "description": "Logits instead of probabilities"},
    "return_text": {"type": ["boolean", "null"], "default": false},
    "truncate": {"type": ["boolean", "null"], "default": true,
                 "description": "false: a text that is too long for the model is an error"},
    "truncation_direction": {"enum": ["left", "Left", "right", "Right", null], "default": "right",
                             "description": "left: a text that is too long is an error"},
    "timeout_ms": {"$ref": "#/components/schemas/Timeout"}},
  "example": {"query": "how to boil an egg", "texts": ["Paris is in France.", "Boil the egg for seven minutes."]}},
"DocumentsOnlyRequest": {
  "allOf": [{"$ref": "#/components/schemas/DocumentsRequest"}, {"properties": {"texts": {"type": "null"}}}]},
"DocumentsRequest": {
  "description": "The form of llama.cpp, vLLM, Infinity, Jina and Cohere",
  "type": "object", "required": ["query", "documents"],
  "properties": {
    "query": {"$ref": "#/components/schemas/Query"},
    "documents": {"type": "array", "minItems": 1, "items": {"anyOf": [
      {"type": "string"},
      {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}]}},
    "top_n": {"type": ["integer", "null"], "minimum": 0, "maximum": 9007199254740992, "default": 0,
              "description": "How many results; 0: all"},
    "return_documents": {"type": ["boolean", "null"], "default": false},
    "raw_scores": {"type": ["boolean", "null"], "default": false, "description": "Logits instead of probabilities"},
    "model": {"type": ["string", "null"], "maxLength": 256, "description": "Only repeated"},
    "timeout_ms": {"$ref": "#/components/schemas/Timeout"}},
  "example": {"query": "how to boil an egg", "documents": ["Paris is in France.", "Boil the egg for seven minutes."]}},
"NewDocument": {
  "type": "object", "required": ["id", "text"],
  "properties": {
    "id": {"type": "string", "minLength": 1, "maxLength": 16383},
    "text": {"type": "string", "description": "What is searched and rescored"}},
  "additionalProperties": {"description": "Metadata, at most 64 KiB; a declared key has values of its kind"},
  "example": {"id": "d17", "text": "Boil the egg for seven minutes."}},
"NewDocuments": {
  "description": "One document, or several with different ids: all of them are committed, or none",
  "anyOf": [
    {"$ref": "#/components/schemas/NewDocument"},
    {"type": "object", "required": ["documents"], "properties": {"documents": {
      "type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/NewDocument"}}}}]},
"SearchRequest": {
  "type": "object", "required": ["query"],
  "properties": {
    "query": {"type": "string", "pattern": "[^ \\t\\r\\n\\v\\f]", "description": "Plain words"},
    "k": {"type": ["integer", "null"], "minimum": 1, "description": "How many hits"},
    "offset": {"type": ["integer", "null"], "minimum": 0, "default": 0,
               "description": "How many of the best hits are left out: the page's first rank is one higher"},
    "texts": {"enum": ["none", "snippet", "passage", "full", null], "default": "snippet",
              "description": "What each hit shows"},
    "rescore": {"type": ["boolean", "null"], "default": true, "description": "false: only BM25"},
    "id": {"type": ["string", "null"], "maxLength": 65536,
           "description": "Only the hit with this id, if it is among the page's"},
    "filter": {"type": ["object", "null"],
               "description": "Conditions on declared fields: a value, an array of values, or gt, gte, lt, lte"},
    "facets": {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": 100, "uniqueItems": true,
               "description": "Keyword fields whose values are counted in all documents that match"},
    "fields": {"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}, "maxItems": 100},
                         {"type": "null"}],
               "description": "Keys of the hits' metadata to return"},
    "search_fields": {"$ref": "#/components/schemas/SearchFields"},
    "explain": {"type": ["boolean", "null"], "default": false},
    "timeout_ms": {"$ref": "#/components/schemas/Timeout"}},
  "anyOf": [
    {"properties": {"explain": {"enum": [false, null]}}},
    {"properties": {"k": {}}},
    {"properties": {"id": {"type": "string", "minLength": 1}}, "required": ["id"]}],
  "example": {"query": "how to boil an egg", "k": 3}},
"SearchFields": {"type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "maxItems": 100,
                 "uniqueItems": true,
                 "description": "What BM25 searches, each once: \"contents\" or \"title^2\""},
"StatisticsRequest": {
  "type": "object", "required": ["query"], "properties": {
    "query": {"$ref": "#/components/schemas/Query"},
    "search_fields": {"$ref": "#/components/schemas/SearchFields"}},
  "example": {"query": "how to boil an egg"}}
})json";

constexpr std::string_view kAnswers = R"json({
"RerankAnswer": {"anyOf": [{"$ref": "#/components/schemas/TextsAnswer"},
                           {"$ref": "#/components/schemas/DocumentsAnswer"}],
                 "description": "In the form of the request, best first"},
"TextsAnswer": {
  "type": "array",
  "items": {"type": "object", "required": ["index", "score"], "properties": {
    "index": {"type": "integer", "minimum": 0}, "text": {"type": "string"}, "score": {"type": "number"}}}},
"DocumentsAnswer": {
  "type": "object", "required": ["object", "model", "results", "usage", "meta"],
  "properties": {
    "object": {"const": "list"},
    "model": {"type": "string"},
    "results": {"type": "array", "items": {"type": "object", "required": ["index", "relevance_score"], "properties": {
      "index": {"type": "integer", "minimum": 0},
      "relevance_score": {"type": "number"},
      "document": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}}}},
    "usage": {"type": "object", "required": ["total_tokens", "prompt_tokens"], "properties": {
      "total_tokens": {"type": "integer"}, "prompt_tokens": {"type": "integer"}}},
    "meta": {"type": "object", "required": ["api_version", "billed_units"], "properties": {
      "api_version": {"type": "object", "required": ["version"], "properties": {"version": {"enum": ["1", "2"]}}},
      "billed_units": {"type": "object", "required": ["search_units"], "properties": {
        "search_units": {"type": "integer"}}}}}}},
"InfinityAnswer": {
  "type": "object", "required": ["object", "model", "results", "usage"],
  "properties": {
    "object": {"const": "rerank"},
    "model": {"type": "string"},
    "results": {"type": "array", "items": {"type": "object", "required": ["index", "relevance_score"], "properties": {
      "index": {"type": "integer", "minimum": 0}, "relevance_score": {"type": "number"},
      "document": {"type": "string"}}}},
    "usage": {"type": "object", "required": ["total_tokens", "prompt_tokens"], "properties": {
      "total_tokens": {"type": "integer"}, "prompt_tokens": {"type": "integer"}}}}},
"SearchAnswer": {
  "type": "object",
  "required": ["query", "total_hits", "total_is_exact", "rescored", "without_text", "truncated",
               "query_truncated", "degraded", "hits", "milliseconds"],
  "properties": {
    "query": {"type": "string"},
    "total_hits": {"type": "integer", "minimum": 0, "description": "Documents that match"},
    "total_is_exact": {"type": "boolean", "description": "false: at least total_hits documents match"},
    "status": {"enum": ["rescored", "no_hits", "no_query_text", "no_hit_text", "failed"]},
    "rescored": {"type": "integer"}, "without_text": {"type": "integer"}, "truncated": {"type": "integer"},
    "encoded": {"type": "integer"}, "cached": {"type": "integer"},
    "query_truncated": {"type": "boolean"},
    "degraded": {"type": "boolean"}, "reason": {"type": "string"}, "note": {"type": "string"},
    "stages": {"type": "array", "items": {"type": "object"}},
    "facets": {"type": "object", "additionalProperties": {
      "type": "object", "required": ["distinct", "counts"], "properties": {
        "distinct": {"type": "integer", "minimum": 0},
        "counts": {"type": "array", "items": {"type": "object", "required": ["value", "count"], "properties": {
          "value": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}}}}}},
    "hits": {"type": "array", "items": {"$ref": "#/components/schemas/Hit"}},
    "milliseconds": {"type": "object", "additionalProperties": {"type": "number"}}}},
"Hit": {
  "type": "object",
  "required": ["rank", "id", "score", "logit", "first_stage_rank", "first_stage_score", "status", "truncated",
               "passage"],
  "properties": {
    "rank": {"type": "integer", "minimum": 1}, "id": {"type": "string"}, "score": {"type": "number"},
    "logit": {"type": ["number", "null"]},
    "first_stage_rank": {"type": "integer", "minimum": 1}, "first_stage_score": {"type": "number"},
    "status": {"enum": ["rescored", "without_text", "beyond_window", "not_rescored"]},
    "truncated": {"type": "boolean"},
    "passage": {"type": ["object", "null"], "required": ["field", "begin", "end"], "properties": {
      "field": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"},
      "ends_field": {"type": "boolean"}, "text": {"type": "string"}}},
    "stage_logits": {"type": "array", "items": {"type": "number"}},
    "snippet": {"type": "string"}, "text": {"type": "string"}, "fields": {"type": "object"},
    "explanation": {"$ref": "#/components/schemas/Explanation"}}},
"Explanation": {
  "type": "object", "required": ["value", "description", "details"], "properties": {
    "value": {"type": "number"}, "description": {"type": "string"},
    "details": {"type": "array", "items": {"$ref": "#/components/schemas/Explanation"}}}},
"Document": {
  "type": "object", "required": ["id", "text", "metadata"],
  "properties": {"id": {"type": "string"}, "text": {"type": "string"}, "metadata": {"type": "object"}}},
"Statistics": {
  "type": "object", "required": ["fields"], "properties": {"fields": {"type": "object", "additionalProperties": {
    "type": "object", "required": ["documents", "tokens", "frequencies"], "properties": {
      "documents": {"type": "integer"}, "tokens": {"type": "integer"},
      "frequencies": {"type": "object", "additionalProperties": {"type": "integer"}}}}}}},
"DocumentsPut": {
  "type": "object", "required": ["replaced", "added", "documents", "searchable"],
  "properties": {
    "replaced": {"type": "integer"}, "added": {"type": "integer"},
    "documents": {"type": "integer", "description": "In the index now"},
    "searchable": {"type": "boolean", "description": "false: committed, but searches do not see it yet"},
    "problem": {"type": "string", "description": "Why they do not"}}},
"DocumentDeleted": {
  "type": "object", "required": ["deleted", "documents", "searchable"],
  "properties": {
    "deleted": {"type": "integer"}, "documents": {"type": "integer"}, "searchable": {"type": "boolean"},
    "problem": {"type": "string"}}},
"Status": {"type": "object", "required": ["status"], "properties": {"status": {"enum": ["ok", "ready"]}}},
"Info": {
  "type": "object",
  "required": ["model_id", "model_type", "max_client_batch_size", "version", "scorer", "can_rerank", "can_search",
               "max_text_bytes", "max_hits"],
  "properties": {
    "model_id": {"type": "string"}, "model_dtype": {"type": ["string", "null"]}, "model_type": {"type": "object"},
    "max_concurrent_requests": {"type": "integer"}, "max_input_length": {"type": ["integer", "null"]},
    "max_client_batch_size": {"type": "integer"}, "version": {"type": "string"}, "scorer": {"type": "string"},
    "can_rerank": {"type": "boolean"}, "can_search": {"type": "boolean"},
    "max_text_bytes": {"type": "integer"}, "max_hits": {"type": "integer"},
    "indexes": {"type": "array", "items": {"type": "string"}, "description": "Names; the first is the default"}}},
"OpenApi": {"type": "object", "required": ["openapi", "info", "paths"]},
"Error": {
  "type": "object", "required": ["error", "error_type", "message"],
  "properties": {
    "error": {"type": "string"},
    "error_type": {"enum": ["Validation", "Overloaded", "Unhealthy", "Backend", "Timeout"]},
    "message": {"type": "string", "description": "The same as `error`"}}}
})json";

/// States which keys a search may filter by and count, and the kinds of their values.
void describe_fields(const IndexConfig& fields, Answer& search) {
  const auto value_or_several = [](const Answer& value) {
    return Answer::array({value, {{"type", "array"}, {"items", value}, {"minItems", 1}}});
  };
  Answer properties = Answer::object();
  for (const std::string& name : fields.keyword_fields) {
    properties[name] = {{"anyOf", value_or_several({{"type", "string"}})}};
  }
  constexpr std::int64_t kExactNumbers = std::int64_t{1} << 53;
  const Answer number{{"type", "number"}, {"minimum", -kExactNumbers}, {"maximum", kExactNumbers}};
  for (const std::string& name : fields.number_fields) {
    properties[name] = {{"anyOf", value_or_several(number)}};
    Answer range{{"type", "object"}, {"minProperties", 1}, {"additionalProperties", false}};
    for (const char* bound : {"gt", "gte", "lt", "lte"}) range["properties"][bound] = number;
    range["not"] = Answer::parse(R"({"anyOf": [{"required": ["gt", "gte"]}, {"required": ["lt", "lte"]}]})");
    properties[name]["anyOf"].push_back(range);
  }
  search["filter"]["properties"] = properties;
  search["filter"]["additionalProperties"] = false;
  if (fields.keyword_fields.empty()) {
    search["facets"]["maxItems"] = 0;
  } else {
    search["facets"]["items"]["enum"] = fields.keyword_fields;
  }
}

/// States which fields BM25 can search, each alone or with a weight.
void describe_searched_fields(const IndexConfig& fields, Answer& search_fields) {
  std::string names;
  const auto add = [&names](const std::string& name) {
    if (!names.empty()) names += '|';
    for (const char c : name) {
      if (std::string_view(R"(\^$.*+?()[]{}|/)").find(c) != std::string_view::npos) names += '\\';
      names += c;
    }
  };
  add(fields.contents_field);
  for (const std::string& name : fields.analyzed_fields) add(name);
  // Without the last condition, some programs also let a line feed follow.
  search_fields["items"]["pattern"] = fmt::format(R"(^(?:{})(?:\^(?:[1-9][0-9]{{0,5}}|0\.[1-9]))?(?!\n)$)", names);
  search_fields["maxItems"] = 1 + fields.analyzed_fields.size();
}

}  // namespace

Answer openapi_schemas(const ServerConfig& settings, std::span<const std::string> indexes, const IndexConfig* fields) {
  static const Answer schemas = [] {
    Answer all = Answer::parse(kRequests);
    all.update(Answer::parse(kAnswers));
    return all;
  }();
  Answer json = schemas;
  if (!indexes.empty()) {
    Answer names = Answer::array({nullptr});
    for (const std::string& name : indexes) names.push_back(name);
    for (const char* request : {"SearchRequest", "StatisticsRequest"}) {
      json[request]["properties"]["index"] = {
          {"enum", names}, {"default", indexes.front()}, {"description", "Which index is searched"}};
    }
  }
  if (fields != nullptr) {
    describe_fields(*fields, json["SearchRequest"]["properties"]);
    describe_searched_fields(*fields, json["SearchFields"]);
  }
  const auto query_bytes = std::min(static_cast<std::size_t>(settings.text_bytes), kQueryBytes);
  json["Query"]["maxLength"] = query_bytes;
  json["Timeout"]["maximum"] = settings.request_timeout.count();
  for (const auto& [name, field] : {std::pair("TextsRequest", "texts"), std::pair("DocumentsRequest", "documents")}) {
    json[name]["properties"][field]["maxItems"] = settings.texts;
  }
  json["NewDocuments"]["anyOf"][1]["properties"]["documents"]["maxItems"] = settings.texts;
  Answer& search = json["SearchRequest"];
  const std::int32_t hits = std::min(10, settings.hits);
  search["properties"]["query"]["maxLength"] = query_bytes;
  search["properties"]["k"]["maximum"] = settings.hits;
  search["properties"]["k"]["default"] = hits;
  search["properties"]["offset"]["maximum"] = settings.hits - 1;
  Answer& explained = search["anyOf"][1];
  explained["properties"]["k"] = {{"type", {"integer", "null"}}, {"maximum", settings.explained_hits}};
  if (hits > settings.explained_hits) {
    explained["properties"]["k"]["type"] = "integer";
    explained["required"] = {"k"};
  }
  return json;
}

}  // namespace relucent::server
