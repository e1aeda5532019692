#include "server/shard_answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "base/json_tree.h"
#include "base/nesting.h"
#include "base/utf8.h"
#include "relucent/error.h"
#include "server/json.h"
#include "server/refusal.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

constexpr std::size_t kBytesPerAnswer = 4096, kBytesPerHit = 4096;
// A term may be longer than its word, and JSON writes a control character in six bytes.
constexpr std::size_t kBytesPerByteOfQuery = 64;
// A hit has about fifteen members, and more with every stage of a second stage.
constexpr std::size_t kValuesPerAnswer = 256, kValuesPerHit = 256;
// Metadata that an index stores has at most 64 KiB, and JSON may write each byte as six.
constexpr std::size_t kBytesOfMetadata = 6 * (std::size_t{64} << 10), kValuesOfMetadata = std::size_t{32} << 10;
constexpr std::size_t kBytesPerFacet = std::size_t{1} << 20, kValuesPerFacet = 5 * kMaxFacetValues + 5;
constexpr std::uint64_t kMaxDocuments = std::numeric_limits<std::int32_t>::max();  // of one index

[[noreturn]] void refuse(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::invalid_data, place, problem,
              "serve each part of the index with `relucent serve` of this version");
}

JsonTree parse(const std::string& place, std::string_view body, std::size_t max_values) {
  if (too_deep_in_json(body) || too_many_in_json(body, max_values)) {
    refuse(place, "its answer has more values than it was asked for");
  }
  JsonTree json;
  if (json.read(body) || !json->is_object()) refuse(place, "its answer is not an object in JSON");
  return json;
}

/// nullptr if the value is not an object that has it.
Json* member(Json& object, const char* name) {
  const auto found = object.find(name);  // the end of what is not an object
  return found == object.end() ? nullptr : &*found;
}

std::string string_of(const std::string& place, Json& hit, const char* name) {
  Json* const value = member(hit, name);
  if (value == nullptr || !value->is_string()) refuse(place, fmt::format("a hit has no string `{}`", name));
  return std::move(value->get_ref<std::string&>());
}

std::int64_t count_of(const std::string& place, Json& object, const char* name) {
  const Json* const value = member(object, name);
  if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > kMaxDocuments) {
    refuse(place, fmt::format("its `{}` is not a number of documents", name));
  }
  return value->get<std::int64_t>();
}

FacetCounts facet_of(const std::string& place, const std::string& key, Json& facets) {
  Json* const given = member(facets, key.c_str());
  Json* const counts = given == nullptr ? nullptr : member(*given, "counts");
  if (counts == nullptr || !counts->is_array() || counts->size() > kMaxFacetValues) {
    refuse(place, "its `facets` are not those that it was asked for");
  }
  FacetCounts facet{key, {}, count_of(place, *given, "distinct")};
  for (Json& one : *counts) facet.values.push_back({string_of(place, one, "value"), count_of(place, one, "count")});
  return facet;
}

std::string object_of(const std::string& place, Json& holder, const char* name) {
  const Json* const value = member(holder, name);
  if (value == nullptr || !value->is_object()) refuse(place, fmt::format("its `{}` is not an object", name));
  return value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

double score_of(const std::string& place, Json& hit) {
  const Json* const value = member(hit, "first_stage_score");
  if (value == nullptr || !value->is_number() ||
      std::abs(value->get<double>()) > static_cast<double>(std::numeric_limits<float>::max())) {
    refuse(place, "a hit has no score as `first_stage_score`");
  }
  // Scores are 32-bit floats, written as the shortest numbers that read back to them.
  return static_cast<double>(value->get<float>());
}

}  // namespace

std::size_t max_statistics_bytes(const ShardOrder& order) {
  return kBytesPerAnswer + kBytesPerByteOfQuery * order.query.size() * order.searched_fields;
}

std::size_t max_hits_bytes(const ShardOrder& order, const ServerConfig& limits) {
  const std::size_t text = order.texts ? static_cast<std::size_t>(limits.text_bytes) : 0;
  const std::size_t metadata = order.fields ? kBytesOfMetadata : 0;
  return max_statistics_bytes(order) + order.hits * (kBytesPerHit + text + metadata) +
         order.facets.size() * kBytesPerFacet;
}

std::size_t max_document_bytes(const ServerConfig& limits) {
  return kBytesPerAnswer + kBytesOfMetadata + 6 * static_cast<std::size_t>(limits.text_bytes);
}

std::vector<FacetCounts> add_facets(const std::vector<std::string>& keys,
                                    const std::vector<std::vector<FacetCounts>>& of_shards) {
  std::vector<FacetCounts> sums;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::map<std::string, std::int64_t> counts;
    FacetCounts& sum = sums.emplace_back(FacetCounts{keys[i], {}, 0});
    for (const auto& facets : of_shards) {
      sum.all_values = std::max(sum.all_values, facets.at(i).all_values);
      for (const auto& [value, documents] : facets.at(i).values) counts[value] += documents;
    }
    sum.all_values = std::max(sum.all_values, static_cast<std::int64_t>(counts.size()));
    for (const auto& [value, documents] : counts) sum.values.push_back({value, documents});
    std::ranges::stable_sort(sum.values, std::greater<>(), &FacetCounts::Value::documents);
    if (sum.values.size() > kMaxFacetValues) sum.values.resize(kMaxFacetValues);
  }
  return sums;
}

CollectionStatistics read_statistics(const std::string& place, std::string_view body, const ShardOrder& order) {
  // No query has more terms than bytes.
  const JsonTree json = parse(place, body, kValuesPerAnswer + (2 * order.query.size() + 4) * order.searched_fields);
  try {
    return parse_statistics(*json);
  } catch (const Refusal& refusal) {  // which would be a client's fault
    refuse(place, refusal.what());
  }
}

ShardHits read_hits(const std::string& place, std::string_view body, const ShardOrder& order) {
  const std::size_t per_hit = kValuesPerHit + (order.fields ? kValuesOfMetadata : 0);
  JsonTree json = parse(place, body, kValuesPerAnswer + per_hit * order.hits + kValuesPerFacet * order.facets.size());
  ShardHits found;
  found.total = count_of(place, *json, "total_hits");
  if (const Json* const exact = member(*json, "total_is_exact"); exact != nullptr) {
    if (!exact->is_boolean()) refuse(place, "its `total_is_exact` is not true or false");
    found.total_is_exact = exact->get<bool>();
  }
  Json* const hits = member(*json, "hits");
  const std::size_t expected = std::min(order.hits, static_cast<std::size_t>(found.total));
  if (hits == nullptr || !hits->is_array() || hits->size() != expected) {
    refuse(place, fmt::format("its `hits` are not the best {} of {}", expected, found.total));
  }
  for (Json& given : *hits) {
    SearchHit& hit = found.hits.emplace_back();
    hit.id = string_of(place, given, "id");
    if (order.texts) hit.text = string_of(place, given, "text");
    if (order.fields) hit.fields = object_of(place, given, "fields");
    hit.score = hit.first_stage_score = score_of(place, given);
  }
  Json* const facets = order.facets.empty() ? nullptr : member(*json, "facets");
  if (!order.facets.empty() && facets == nullptr) refuse(place, "it has no `facets`");
  for (const std::string& key : order.facets) found.facets.push_back(facet_of(place, key, *facets));
  return found;
}

StoredDocument read_document(const std::string& place, std::string_view body) {
  JsonTree json = parse(place, body, kValuesPerAnswer + kValuesOfMetadata);
  return {string_of(place, *json, "id"), string_of(place, *json, "text"), object_of(place, *json, "metadata")};
}

std::string read_error(std::string_view body) {
  constexpr std::size_t most_values = 100, most_bytes = 200;
  if (too_deep_in_json(body) || too_many_in_json(body, most_values)) return "no answer in JSON";
  JsonTree json;
  if (json.read(body) || !json->is_object()) return "no answer in JSON";
  const Json* const error = member(*json, "error");
  if (error == nullptr || !error->is_string()) return "no reason";
  return std::string(utf8_prefix(error->get_ref<const std::string&>(), most_bytes));
}

}  // namespace relucent::server
