#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/times.h"

namespace relucent::python {

/// The part of a hit's stored text that gave the score.
struct Passage {
  std::string field;                               ///< the stored field
  std::size_t begin = 0, end = 0;                  ///< bytes of its text in UTF-8
  std::optional<std::string> text = std::nullopt;  ///< if texts were asked for
};

struct Hit {
  std::string id;
  std::int64_t rank = 0;  ///< from 1
  double score = 0;
  std::int64_t first_stage_rank = 0;
  double first_stage_score = 0;
  std::string status;  ///< rescored, without_text, beyond_window, not_rescored
  std::optional<float> logit;
  std::vector<float> stage_logits;
  bool truncated = false;
  std::optional<Passage> passage;
  std::optional<std::string> text;  ///< if texts were asked for
};

struct SearchResult {
  std::string query;
  std::vector<Hit> hits;
  std::int64_t total_hits = 0;
  std::string status;  ///< of rescoring; empty without a second stage
  bool degraded = false;
  std::string reason;
  std::int64_t rescored = 0, without_text = 0, truncated = 0;
  bool query_truncated = false;
  StageTimes times;
  std::chrono::nanoseconds total{0};
};

enum class QuerySyntax { words, lucene };

/// An index opened with openSearcher(). Thread-safe. Hides Lucene++ from the other files.
class IndexSearcher {
 public:
  /// Throws Error.
  IndexSearcher(const std::filesystem::path& index, const Config& config, QuerySyntax syntax);
  ~IndexSearcher();

  /// The best n hits. Throws Error: `usage` for a blank query and one that does not follow the syntax, `interrupted`
  /// once `stop` is requested.
  SearchResult search(std::string_view query, std::int32_t n, bool texts, const std::stop_token& stop) const;

  /// search() for each query, `jobs` of them at a time, on threads of its own. The first failure ends the others.
  std::vector<SearchResult> search_all(std::span<const std::string_view> queries, std::int32_t n, bool texts, int jobs,
                                       const std::stop_token& stop) const;

  /// What scores, on which device; one line per stage, empty without a second stage.
  std::string describe() const;
  /// What a user should know before he trusts the scores.
  std::vector<std::string> notices() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent::python
