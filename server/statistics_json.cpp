#include "server/statistics_json.h"

#include <fmt/core.h>

#include <limits>

#include "server/refusal.h"

namespace relucent::server {
namespace {

/// The value with this name, of this kind.
const Json& member(const Json& object, const char* name, bool is_object) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end() || (is_object ? !found->is_object() : !found->is_number_integer())) {
    throw not_valid(fmt::format("`statistics` must have {} `{}`", is_object ? "an object" : "a whole number", name));
  }
  return *found;
}

std::int64_t count(const Json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return value.get<std::int64_t>();
  }
  throw not_valid("`statistics` has something else than a count of documents or tokens");
}

}  // namespace

Answer statistics_json(const CollectionStatistics& statistics) {
  Answer fields = Answer::object();
  for (const auto& [name, field] : statistics.fields) {
    Answer frequencies = Answer::object();
    for (const auto& [term, frequency] : field.document_frequencies) frequencies.add(term, frequency);
    fields.add(name, {{"documents", field.totals.document_count},
                      {"frequencies", std::move(frequencies)},
                      {"tokens", field.totals.sum_total_term_freq}});
  }
  return {{"fields", std::move(fields)}};
}

CollectionStatistics parse_statistics(const Json& json) {
  CollectionStatistics statistics;
  for (const auto& [name, given] : member(json, "fields", true).items()) {
    CollectionStatistics::Field& field = statistics.fields[name];
    field.totals.document_count = count(member(given, "documents", false));
    field.totals.sum_total_term_freq = count(member(given, "tokens", false));
    for (const auto& [term, frequency] : member(given, "frequencies", true).items()) {
      field.document_frequencies[term] = count(frequency);
    }
  }
  try {
    statistics.check();
  } catch (const Error& error) {
    throw not_valid(error.what());
  }
  return statistics;
}

}  // namespace relucent::server
