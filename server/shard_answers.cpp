#include "server/shard_answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json_values.h"
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
constexpr std::uint64_t kMaxDocuments = std::numeric_limits<std::int32_t>::max();  // of one index

[[noreturn]] void refuse(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::invalid_data, place, problem,
              "serve each part of the index with `relucent serve` of this version");
}

Json parse(const std::string& place, std::string_view body, std::size_t max_values) {
  if (too_deep_in_json(body) || too_many_in_json(body, max_values)) {
    refuse(place, "its answer has more values than it was asked for");
  }
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) refuse(place, "its answer is not an object in JSON");
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
  return kBytesPerAnswer + kBytesPerByteOfQuery * order.query.size();
}

std::size_t max_hits_bytes(const ShardOrder& order, const ServerConfig& limits) {
  const std::size_t text = order.texts ? static_cast<std::size_t>(limits.text_bytes) : 0;
  return max_statistics_bytes(order) + order.hits * (kBytesPerHit + text);
}

CollectionStatistics read_statistics(const std::string& place, std::string_view body, const ShardOrder& order) {
  // No query has more terms than bytes.
  const Json json = parse(place, body, kValuesPerAnswer + 2 * order.query.size());
  try {
    return parse_statistics(json);
  } catch (const Refusal& refusal) {  // which would be a client's fault
    refuse(place, refusal.what());
  }
}

ShardHits read_hits(const std::string& place, std::string_view body, const ShardOrder& order) {
  Json json = parse(place, body, kValuesPerAnswer + kValuesPerHit * order.hits);
  const Json* const total = member(json, "total_hits");
  if (total == nullptr || !total->is_number_unsigned() || total->get<std::uint64_t>() > kMaxDocuments) {
    refuse(place, "its `total_hits` is not a number of documents");
  }
  ShardHits found;
  found.total = total->get<std::int64_t>();
  Json* const hits = member(json, "hits");
  const std::size_t expected = std::min(order.hits, total->get<std::size_t>());
  if (hits == nullptr || !hits->is_array() || hits->size() != expected) {
    refuse(place, fmt::format("its `hits` are not the best {} of {}", expected, found.total));
  }
  for (Json& given : *hits) {
    SearchHit& hit = found.hits.emplace_back();
    hit.id = string_of(place, given, "id");
    if (order.texts) hit.text = string_of(place, given, "text");
    hit.score = hit.first_stage_score = score_of(place, given);
  }
  return found;
}

std::string read_error(std::string_view body) {
  constexpr std::size_t most_values = 100, most_bytes = 200;
  if (too_deep_in_json(body) || too_many_in_json(body, most_values)) return "no answer in JSON";
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return "no answer in JSON";
  const Json* const error = member(json, "error");
  if (error == nullptr || !error->is_string()) return "no reason";
  return std::string(utf8_prefix(error->get_ref<const std::string&>(), most_bytes));
}

}  // namespace relucent::server
