#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "relucent/scorer.h"

namespace relucent::index_tools {

/// One candidate of a TIREx rerank file.
struct RerankCandidate {
  std::string docno;
  std::string text;       ///< empty if missing
  double score = 0;       ///< of the first stage
  std::int64_t rank = 0;  ///< of the first stage, from 1: counted in the order of the stated ranks
  std::string line;       ///< the whole record, if requested
};

struct RerankQuery {
  std::string id;
  std::string text;
  std::vector<RerankCandidate> candidates;  ///< in first-stage order
};

struct RerankInput {
  std::vector<RerankQuery> queries;  ///< in the order of their first line
  std::size_t candidates = 0;
  bool all_scored = true;             ///< every record states a score
  std::vector<std::string> left_out;  ///< why lines were left out, one message per line
};

/// The query's candidates as a Scorer takes them, with views into `query`.
std::vector<Candidate> scorer_candidates(const RerankQuery& query);

/// Reads TIREx's rerank.jsonl[.gz]: one object per line with qid, query, docno, text, rank and score (rank and score
/// are optional: by default the order of the lines counts, and the score is 0). A query's candidates need not be
/// adjacent.
/// @param keep_lines  whether to fill RerankCandidate::line
/// Throws Error: `io` if the file cannot be read; `invalid_data` at file:line for a record that is not a JSON object,
/// lacks an id or the query, has a blank query or a different one than before for the same qid, or repeats a document
/// of a query. With BadLines::leave_out such lines are counted instead, and only a file without a good line fails.
enum class BadLines { refuse, leave_out };
RerankInput read_rerank_input(const std::filesystem::path& file, bool keep_lines, BadLines bad = BadLines::refuse);

/// The rerank file of a folder as TIRA mounts it: rerank.jsonl.gz or rerank.jsonl. Throws Error `io` if there is none.
std::filesystem::path rerank_file_in(const std::filesystem::path& folder);

/// The data set's name that TIRA writes to metadata.json ("ir_datasets_id") in the same folder; empty if there is none.
/// It is for display only, so a malformed file is not an error.
std::string dataset_id_in(const std::filesystem::path& folder);

/// Formats a candidate as a line of a rerank file, including its line end.
std::string format_rerank_line(const std::string& query_id, const std::string& query, const RerankCandidate& candidate);

}  // namespace relucent::index_tools
