#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// One line of a run.
struct RunHit {
  std::string docno;
  double score = 0;
  std::int64_t rank = 0;  ///< as the line states it; 0 where it states no whole number
};

/// How a run's file is written.
enum class RunFormat { trec, msmarco, jsonl };

/// A run as its file states it: each query's hits in the order of the lines, queries by the bytes of their ids.
struct Run {
  RunFormat format = RunFormat::trec;
  std::string tag;             ///< of the first line that has one
  std::size_t other_tags = 0;  ///< lines with another tag than that
  std::map<std::string, std::vector<RunHit>> queries;
  std::vector<std::string> query_order;  ///< the ids in the order of their first line
};

/// Reads a run, plain or compressed; the format is found out from the first line that is not blank:
///   TREC      qid Q0 docno rank score tag
///   MS MARCO  qid docno rank; the score is 1 / rank
///   JSONL     {"qid" or "query_id": ..., "docno" or "doc_id" or "docid": ..., "score": ...,
///             "rank" and "tag" where there are any}: a rerank file, too
/// What counts is the score: the order of the hits is that of sort_as_trec_eval(), whatever the ranks say.
/// Throws Error: `io` where the file cannot be read; `invalid_data` at file:line for a line of another format and a
/// document listed twice for a query.
Run read_run(const std::filesystem::path& file);

/// How a score is kept before hits are compared: trec_eval keeps 32-bit floats up to its version 9.0.8, doubles since.
enum class ScoreType { single_precision, double_precision };

/// trec_eval's order: score, higher first, then docno by its bytes, higher first.
void sort_as_trec_eval(std::vector<RunHit>& hits, ScoreType type = ScoreType::single_precision);

/// A query's hits, best first.
struct RankedQuery {
  std::string id;
  std::vector<RunHit> hits;
};

/// The query's hits by score (equal ones stay in their order), scores as 32-bit floats: where two would be equal the
/// later one is lowered to the next float, so that every trec_eval reads this order. Throws Error `invalid_data` for a
/// score that is not finite.
RankedQuery with_scores_apart(const RankedQuery& query);

/// A run's text: queries in the order given, each with_scores_apart(), ranks from 1. Throws Error `invalid_data` naming
/// the id where a query id, docno or the tag is empty or holds a blank, and for a score that is not finite.
std::string format_run(const std::vector<RankedQuery>& queries, std::string_view tag);

/// Writes format_run() to `file`, which appears whole or not at all.
void write_run(const std::filesystem::path& file, const std::vector<RankedQuery>& queries, std::string_view tag);

}  // namespace relucent::index_tools
