#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/collection_statistics.h"
#include "relucent/config.h"
#include "relucent/search_session.h"

namespace relucent::server {

/// What a shard is asked for.
struct ShardOrder {
  std::string query;
  std::size_t hits = 0;
  bool texts = false;   ///< the hits' whole texts
  bool fields = false;  ///< members of the hits' metadata
  std::vector<std::string> facets = {};
  std::size_t searched_fields = 1;  ///< each has the query's terms
};

/// The best hits of a shard by BM25.
struct ShardHits {
  std::vector<SearchHit> hits;  ///< id, text, fields, first_stage_score and score
  std::vector<FacetCounts> facets;
  std::int64_t total = 0;  ///< documents that match
  bool total_is_exact = true;
};

/// The longest answer, in bytes, to /statistics and to /search.
std::size_t max_statistics_bytes(const ShardOrder& order);
std::size_t max_hits_bytes(const ShardOrder& order, const ServerConfig& limits);
/// The same of an answer to /doc/{id}.
std::size_t max_document_bytes(const ServerConfig& limits);

/// The facets of all shards together, for these keys. A shard counts only the
/// kMaxFacetValues most frequent values of a key, so that the sums of rarer ones may be too small.
std::vector<FacetCounts> add_facets(const std::vector<std::string>& keys,
                                    const std::vector<std::vector<FacetCounts>>& of_shards);

/// Read a shard's answer. What they keep is bounded by the order, whatever the answer contains. All throw Error
/// `invalid_data` at `place`, the shard's name, for an answer that no shard of this version gives.
CollectionStatistics read_statistics(const std::string& place, std::string_view body, const ShardOrder& order);
ShardHits read_hits(const std::string& place, std::string_view body, const ShardOrder& order);
StoredDocument read_document(const std::string& place, std::string_view body);
/// The message of an answer with another status than 200, shortened.
std::string read_error(std::string_view body);

}  // namespace relucent::server
