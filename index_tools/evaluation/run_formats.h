#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/run.h"

namespace relucent::index_tools {

/// The formats' names on a command line: trec, msmarco, jsonl.
std::string_view to_string(RunFormat format) noexcept;
/// Throws Error `usage` for an unknown name.
RunFormat parse_run_format(std::string_view name);
/// The format that a file name implies: .jsonl, .tsv (MS MARCO), .run and .trec (TREC); nothing for other names.
std::optional<RunFormat> run_format_of(const std::filesystem::path& file);

/// What determines a run's order.
enum class RunOrder {
  score,  ///< trec_eval's: score, then docno, both descending
  rank,   ///< the rank that each line states; a score above that of the preceding rank is lowered to it
};

/// The run's queries in file order, each with its best hits.
/// @param hits  maximum per query; 0: all
/// Throws Error `invalid_data` for a hit without a rank under RunOrder::rank.
std::vector<RankedQuery> ranked_queries(const Run& run, RunOrder order, std::size_t hits);

/// Formats the queries: TREC as in format_run(), without ties; MS MARCO as qid, docno and rank, separated by tabs;
/// JSONL with qid, docno, rank, score and tag. Throws Error like format_run().
std::string format_run_as(RunFormat format, const std::vector<RankedQuery>& queries, std::string_view tag);

/// Anomalies of a run.
struct RunCheck {
  std::size_t queries = 0, hits = 0;
  std::size_t fewest = 0, most = 0;  ///< hits of a query
  std::size_t ties_as_float = 0,
              ties_as_double = 0;            ///< neighbouring hits with equal scores, ordered by docno
  std::size_t queries_ranked_otherwise = 0;  ///< whose ranks, if all are stated, contradict the scores
};

RunCheck check_run(const Run& run);

}  // namespace relucent::index_tools
