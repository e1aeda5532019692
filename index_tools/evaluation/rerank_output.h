#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/evaluation/rerank_input.h"
#include "relucent/combine.h"

namespace relucent::index_tools {

enum class RerankFormat { logits, run, jsonl };

/// Decides by the file name: .tsv is `logits`, .jsonl and .jsonl.gz are `jsonl`, anything else is `run`.
RerankFormat rerank_format(const std::filesystem::path& file);

/// Result of reranking one query.
struct RerankedQuery {
  std::vector<std::optional<float>> logits;  ///< one per candidate in first-stage order; nothing: not scored
  std::vector<CombinedHit> order;            ///< indices into the candidates
};

/// Formats a query's lines:
///   logits  qid, tab, docno, tab, logit with all digits of the 32-bit float, in the input's order; candidates
///           without a logit are omitted
///   run     six TREC columns, scores made distinct (format_run)
///   jsonl   the input's records in the new order, "rank" and "score" replaced, everything else kept
/// Throws Error `invalid_data` for an id that contains white space (logits, run).
std::string format_reranked(RerankFormat format, const RerankQuery& query, const RerankedQuery& result,
                            const std::string& tag);

}  // namespace relucent::index_tools
