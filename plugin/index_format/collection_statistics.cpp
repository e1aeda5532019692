#include "relucent/collection_statistics.h"

#include <fmt/core.h>

#include <utility>

#include "relucent/error.h"

namespace relucent {
namespace {

thread_local const CollectionStatistics* innermost_statistics = nullptr;

[[noreturn]] void refuse(const std::string& field, const std::string& problem) {
  throw Error(ErrorKind::invalid_data, fmt::format("the collection's statistics, field \"{}\"", field), problem,
              "add up what BM25Searcher::statistics_of() returns for the query in each part of the collection");
}

void add(const std::string& field, std::int64_t part, std::int64_t& sum) {
  if (__builtin_add_overflow(sum, part, &sum)) refuse(field, "the sum of the parts is too large");
}

}  // namespace

float FieldStatistics::average_length() const noexcept {
  if (document_count <= 0) return 1;
  return static_cast<float>(static_cast<double>(sum_total_term_freq) / static_cast<double>(document_count));
}

CollectionStatistics& CollectionStatistics::operator+=(const CollectionStatistics& other) {
  for (const auto& [name, field] : other.fields) {
    Field& sum = fields[name];
    add(name, field.totals.document_count, sum.totals.document_count);
    add(name, field.totals.sum_total_term_freq, sum.totals.sum_total_term_freq);
    for (const auto& [term, frequency] : field.document_frequencies) {
      add(name, frequency, sum.document_frequencies[term]);
    }
  }
  return *this;
}

void CollectionStatistics::check() const {
  for (const auto& [name, field] : fields) {
    const auto [documents, tokens] = field.totals;
    if (documents < 0 || tokens < documents) refuse(name, fmt::format("{} tokens in {} documents", tokens, documents));
    for (const auto& [term, frequency] : field.document_frequencies) {
      if (frequency >= 0 && frequency <= documents) continue;
      refuse(name, fmt::format("\"{}\" occurs in {} of {} documents", term, frequency, documents));
    }
  }
}

CollectionStatisticsScope::CollectionStatisticsScope(CollectionStatistics statistics)
    : statistics_(std::move(statistics)), outer_(innermost_statistics) {
  statistics_.check();
  innermost_statistics = &statistics_;
}

CollectionStatisticsScope::~CollectionStatisticsScope() { innermost_statistics = outer_; }

const CollectionStatistics* CollectionStatisticsScope::current() noexcept { return innermost_statistics; }

}  // namespace relucent
