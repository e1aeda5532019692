#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/evaluation/rerank_input.h"
#include "relucent/combine.h"

namespace relucent::index_tools {

enum class RerankFormat { logits, run, jsonl };

/// By the name's end: .tsv is `logits`, .jsonl and .jsonl.gz are `jsonl`, anything else is `run`.
RerankFormat rerank_format(const std::filesystem::path& file);

/// What reranking found out about one query.
struct RerankedQuery {
  std::vector<std::optional<float>> logits;  ///< of the candidates in first-stage order; nothing: not scored
  std::vector<CombinedHit> order;            ///< indices into the candidates
};

/// A query's lines in the format:
///   logits  qid, tab, docno, tab, logit with all digits of the 32-bit float, in the input's order; candidates
///           without a logit are left out
///   run     six TREC columns, scores made to differ (format_run)
///   jsonl   the input's records in the new order, "rank" and "score" replaced, everything else kept
/// Throws Error `invalid_data` for an id that holds a blank (logits, run).
std::string format_reranked(RerankFormat format, const RerankQuery& query, const RerankedQuery& result,
                            const std::string& tag);

}  // namespace relucent::index_tools
