#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "relucent/export.h"

namespace relucent {

/// Statistics of one indexed field as BM25 uses them. Deleted documents count until a merge drops them.
struct FieldStatistics {
  std::int64_t document_count = 0;       ///< documents with at least one token
  std::int64_t sum_total_term_freq = 0;  ///< tokens in all documents
  /// (float)(sum_total_term_freq / (double)document_count); 1 for an empty field.
  RELUCENT_API float average_length() const noexcept;

  friend bool operator==(const FieldStatistics&, const FieldStatistics&) = default;
};

/// What the BM25 scores of one query depend on, apart from each document: of an index, or, added up, of a collection
/// that is divided into several indexes (shards) without a document in two of them. With the sum, each shard gives its
/// documents the scores that they would have in one index of the whole collection, to the last bit.
struct CollectionStatistics {
  /// The statistics of one field.
  struct Field {
    FieldStatistics totals;
    std::map<std::string, std::int64_t> document_frequencies;  ///< of the query's terms, as indexed (UTF-8)

    friend bool operator==(const Field&, const Field&) = default;
  };
  std::map<std::string, Field> fields;  ///< those that the query names

  /// Adds those of another part of the collection. Throws Error `invalid_data` if a sum is larger than the type.
  RELUCENT_API CollectionStatistics& operator+=(const CollectionStatistics& other);
  /// Throws Error `invalid_data` for numbers that no collection has: negative ones, a frequency above the number of
  /// documents, fewer tokens than documents.
  RELUCENT_API void check() const;
  friend bool operator==(const CollectionStatistics&, const CollectionStatistics&) = default;
};

/// While it exists, queries that BM25Searchers compile on this thread are scored with these statistics instead of the
/// index's own: search() and explain() of a query, also through a RescoringSearcher. A weight keeps the statistics with
/// which it was made. Scopes may be nested; the innermost counts.
class RELUCENT_API CollectionStatisticsScope {
 public:
  /// Throws Error as CollectionStatistics::check().
  explicit CollectionStatisticsScope(CollectionStatistics statistics);
  ~CollectionStatisticsScope();
  CollectionStatisticsScope(const CollectionStatisticsScope&) = delete;
  CollectionStatisticsScope& operator=(const CollectionStatisticsScope&) = delete;

  /// The statistics of this thread; null if there is no scope.
  static const CollectionStatistics* current() noexcept;

 private:
  CollectionStatistics statistics_;
  const CollectionStatistics* outer_;
};

}  // namespace relucent
