#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/file_formats.h"
#include "index_tools/evaluation/run.h"

namespace relucent::index_tools {

const FileFormats<RunFormat>& run_formats();
inline std::string_view to_string(RunFormat format) { return run_formats().name_of(format); }

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
