#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace relucent::index_tools {

/// One candidate of a TIREx rerank file.
struct RerankCandidate {
  std::string docno;
  std::string text;       ///< empty where it is missing or blank
  double score = 0;       ///< of the first stage
  std::int64_t rank = 0;  ///< of the first stage, from 1: counted here in the order of the stated ranks
  std::string line;       ///< the whole record, where it was asked for
};

struct RerankQuery {
  std::string id;
  std::string text;
  std::vector<RerankCandidate> candidates;  ///< in first-stage order
};

struct RerankInput {
  std::vector<RerankQuery> queries;  ///< in the order of their first line
  std::size_t candidates = 0;
  bool all_scored = true;  ///< every record states a score
};

/// Reads TIREx's rerank.jsonl[.gz]: an object a line with qid, query, docno, text, rank and score (rank and score may
/// be missing: then the lines' order counts, and the score is 0). Candidates of a query need not stand together.
/// @param keep_lines  fills RerankCandidate::line
/// Throws Error: `io` where the file cannot be read; `invalid_data` at file:line for a record that is no JSON object,
/// lacks an id or the query, states a blank query or another one than before for the same qid, or a document twice for
/// a query.
RerankInput read_rerank_input(const std::filesystem::path& file, bool keep_lines);

/// The rerank file of a folder as TIRA mounts it: rerank.jsonl.gz or rerank.jsonl. Throws Error `io` where there is
/// none.
std::filesystem::path rerank_file_in(const std::filesystem::path& folder);

/// The data set's name that TIRA writes beside it in metadata.json ("ir_datasets_id"); empty where there is none. The
/// name is for people, so that a file that cannot be understood is no error.
std::string dataset_id_in(const std::filesystem::path& folder);

/// A candidate as a line of a rerank file, its line end included.
std::string format_rerank_line(const std::string& query_id, const std::string& query, const RerankCandidate& candidate);

}  // namespace relucent::index_tools
