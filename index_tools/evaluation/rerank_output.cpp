#include "index_tools/evaluation/rerank_output.h"

#include <fmt/core.h>

#include "base/nesting.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/report_cells.h"
#include "index_tools/evaluation/run.h"

namespace relucent::index_tools {
namespace {

RankedQuery ranked(const RerankQuery& query, const RerankedQuery& result) {
  RankedQuery ranked{query.id, {}};
  for (const CombinedHit& hit : result.order) ranked.hits.push_back({query.candidates[hit.index].docno, hit.score});
  return ranked;
}

std::string format_logits(const RerankQuery& query, const RerankedQuery& result) {
  std::string text;
  for (std::size_t i = 0; i < query.candidates.size(); ++i) {
    if (i >= result.logits.size() || !result.logits[i]) continue;
    text += fmt::format("{}\t{}\t{}\n", query.id, query.candidates[i].docno, digits_of(*result.logits[i]));
  }
  return text;
}

constexpr std::size_t kMostInOrder = 2000;  // values and names of a record

/// The record's line with the new rank and score.
template <typename Json>
std::string with_result(const std::string& line, std::int64_t rank, double score) {
  Json record = Json::parse(line);
  record["rank"] = rank;
  record["score"] = score;
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string format_jsonl(const RerankQuery& query, const RerankedQuery& result) {
  std::string text;
  std::int64_t rank = 0;
  for (const CombinedHit& hit : result.order) {
    const std::string& line = query.candidates[hit.index].line;
    const auto score = static_cast<double>(hit.score);
    // A record of very many values, whose keys would take the square of their number, does not keep their order.
    const bool in_order = !too_many_in_json(line, kMostInOrder);
    text += in_order ? with_result<JsonLine>(line, ++rank, score) : with_result<JsonRecord>(line, ++rank, score);
  }
  return text;
}

}  // namespace

RerankFormat rerank_format(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".tsv") || name.ends_with(".tsv.gz")) return RerankFormat::logits;
  if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) return RerankFormat::jsonl;
  return RerankFormat::run;
}

std::string format_reranked(RerankFormat format, const RerankQuery& query, const RerankedQuery& result,
                            const std::string& tag) {
  if (format == RerankFormat::jsonl) return format_jsonl(query, result);
  const std::string run = format_run({ranked(query, result)}, tag);  // also checks the ids
  return format == RerankFormat::run ? run : format_logits(query, result);
}

}  // namespace relucent::index_tools
