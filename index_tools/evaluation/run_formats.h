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
/// Throws Error `usage` for another name.
RunFormat parse_run_format(std::string_view name);
/// What a file's name asks for: .jsonl, .tsv (MS MARCO), .run and .trec (TREC); nothing for others.
std::optional<RunFormat> run_form_of(const std::filesystem::path& file);

/// What decides a run's order.
enum class RunOrder {
  score,  ///< trec_eval's: score, then docno, both descending
  rank,   ///< the rank that each line states; a score that rises down the ranks is lowered to the one above it
};

/// The run's queries in the order of the file, the best hits of each.
/// @param hits  at most so many a query; 0: all
/// Throws Error `invalid_data` for a hit without a rank where the ranks are to decide.
std::vector<RankedQuery> ranked_queries(const Run& run, RunOrder order, std::size_t hits);

/// The queries as a file of the format: TREC as format_run(), so that ties are no more; MS MARCO qid, docno and
/// rank between tabs; JSONL qid, docno, rank, score and tag. Throws Error as format_run().
std::string format_run_as(RunFormat format, const std::vector<RankedQuery>& queries, std::string_view tag);

/// What is peculiar about a run.
struct RunCheck {
  std::size_t queries = 0, hits = 0;
  std::size_t fewest = 0, most = 0;  ///< hits of a query
  std::size_t ties_as_float = 0,
              ties_as_double = 0;            ///< neighbours with one score; their order is decided by docno
  std::size_t queries_ranked_otherwise = 0;  ///< whose ranks, where all are stated, say another order than the scores
};

RunCheck check_run(const Run& run);

}  // namespace relucent::index_tools
