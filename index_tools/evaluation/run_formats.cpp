#include "index_tools/evaluation/run_formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "index_tools/evaluation/json_fields.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

void sort_by_rank(const std::string& query, std::vector<RunHit>& hits) {
  for (const RunHit& hit : hits) {
    if (hit.rank != 0) continue;
    throw Error(ErrorKind::invalid_data, fmt::format("query {}, docno {}", query, hit.docno), "has no rank",
                "order by scores instead: --order score");
  }
  std::stable_sort(hits.begin(), hits.end(), [](const RunHit& a, const RunHit& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < hits.size(); ++i) hits[i].score = std::min(hits[i].score, hits[i - 1].score);
}

// Neighbouring hits, in trec_eval's order, with equal scores.
std::size_t count_ties(std::vector<RunHit> hits, ScoreType type) {
  sort_as_trec_eval(hits, type);
  std::size_t ties = 0;
  for (std::size_t i = 1; i < hits.size(); ++i) {
    const bool equal = type == ScoreType::double_precision
                           ? hits[i].score == hits[i - 1].score
                           : static_cast<float>(hits[i].score) == static_cast<float>(hits[i - 1].score);
    ties += equal ? 1 : 0;
  }
  return ties;
}

bool ranked_otherwise(std::vector<RunHit> hits) {
  if (std::any_of(hits.begin(), hits.end(), [](const RunHit& hit) { return hit.rank == 0; })) return false;
  sort_as_trec_eval(hits);
  return !std::is_sorted(hits.begin(), hits.end(), [](const RunHit& a, const RunHit& b) { return a.rank < b.rank; });
}

}  // namespace

const FileFormats<RunFormat>& run_formats() {
  static const FileFormats<RunFormat> formats = {"run",
                                                 {{RunFormat::trec, "trec", {".run", ".trec"}},
                                                  {RunFormat::msmarco, "msmarco", {".tsv"}},
                                                  {RunFormat::jsonl, "jsonl", {".jsonl"}}}};
  return formats;
}

std::vector<RankedQuery> ranked_queries(const Run& run, RunOrder order, std::size_t hits) {
  std::vector<RankedQuery> queries;
  for (const std::string& id : run.query_order) {
    RankedQuery query{id, run.queries.at(id)};
    if (order == RunOrder::rank) {
      sort_by_rank(id, query.hits);
    } else {
      sort_as_trec_eval(query.hits);
    }
    if (hits > 0 && query.hits.size() > hits) query.hits.resize(hits);
    queries.push_back(std::move(query));
  }
  return queries;
}

std::string format_run_as(RunFormat format, const std::vector<RankedQuery>& queries, std::string_view tag) {
  std::string trec = format_run(queries, tag);  // also checks the ids and scores
  if (format == RunFormat::trec) return trec;
  std::string text;
  for (const RankedQuery& query : queries) {
    std::int64_t rank = 0;
    for (const RunHit& hit : with_scores_apart(query).hits) {
      ++rank;
      if (format == RunFormat::msmarco) {
        fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\n", query.id, hit.docno, rank);
      } else {
        const JsonLine record = {
            {"qid", query.id}, {"docno", hit.docno}, {"rank", rank}, {"score", hit.score}, {"tag", tag}};
        text += record.dump(-1, ' ', false, JsonLine::error_handler_t::replace) + "\n";
      }
    }
  }
  return text;
}

RunCheck check_run(const Run& run) {
  RunCheck check;
  check.queries = run.queries.size();
  for (const auto& [query, hits] : run.queries) {
    check.fewest = check.hits == 0 ? hits.size() : std::min(check.fewest, hits.size());
    check.most = std::max(check.most, hits.size());
    check.hits += hits.size();
    check.ties_as_float += count_ties(hits, ScoreType::single_precision);
    check.ties_as_double += count_ties(hits, ScoreType::double_precision);
    check.queries_ranked_otherwise += ranked_otherwise(hits) ? 1 : 0;
  }
  return check;
}

}  // namespace relucent::index_tools
