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
  std::int64_t rank = 0;  ///< as the line states it; 0 if that is not a whole number
};

/// File formats of runs.
enum class RunFormat { trec, msmarco, jsonl };

/// A run as its file states it: each query's hits in the order of the lines, queries in byte order of their ids.
struct Run {
  RunFormat format = RunFormat::trec;
  std::string tag;             ///< from the first line that has one
  std::size_t other_tags = 0;  ///< lines with a different tag
  std::map<std::string, std::vector<RunHit>> queries;
  std::vector<std::string> query_order;  ///< the ids in the order of their first line
};

/// Reads a run, plain or compressed. The format is detected from the first non-blank line:
///   TREC      qid Q0 docno rank score tag
///   MS MARCO  qid docno rank; the score is 1 / rank
///   JSONL     {"qid" or "query_id": ..., "docno" or "doc_id" or "docid": ..., "score": ...,
///             optionally "rank" and "tag"}; this includes rerank files
/// Only scores count: hits are ordered by sort_as_trec_eval(), whatever the ranks are.
/// Throws Error: `io` if the file cannot be read; `invalid_data` at file:line for a line of another format and a
/// document listed twice for a query.
Run read_run(const std::filesystem::path& file);

/// The type of scores when hits are compared: 32-bit floats in trec_eval up to version 9.0.8, doubles since then.
enum class ScoreType { single_precision, double_precision };

/// Sorts like trec_eval: by score, then by the bytes of the docno, both descending.
void sort_as_trec_eval(std::vector<RunHit>& hits, ScoreType type = ScoreType::single_precision);

/// A query's hits, best first.
struct RankedQuery {
  std::string id;
  std::vector<RunHit> hits;
};

/// Sorts the query's hits by score (stably) and makes the scores distinct 32-bit floats: if two would be equal, the
/// later one is lowered to the next float, so that every trec_eval reads this order. Throws Error `invalid_data` for a
/// score that is not finite.
RankedQuery with_scores_apart(const RankedQuery& query);

/// Formats a run: queries in the order given, each with_scores_apart(), ranks from 1. Throws Error `invalid_data`
/// naming the id if a query id, docno or the tag is empty or contains white space, and for a score that is not finite.
std::string format_run(const std::vector<RankedQuery>& queries, std::string_view tag);

/// Writes format_run() to `file`, which appears whole or not at all.
void write_run(const std::filesystem::path& file, const std::vector<RankedQuery>& queries, std::string_view tag);

}  // namespace relucent::index_tools
