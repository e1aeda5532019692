#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/run.h"

namespace relucent::index_tools {

/// A measure as trec_eval computes it.
struct Measure {
  enum class Kind {
    ndcg,                ///< gain = grade (negative and unjudged: 0), discount log2(rank + 1), ideal from all judgments
    average_precision,   ///< over all relevant documents of the qrels
    reciprocal_rank,
    precision,           ///< over the cutoff, however few the hits
    recall,              ///< 0 where nothing is relevant
    judged,              ///< share of judged documents among the hits down to the cutoff
    returned, relevant, relevant_returned, queries,  ///< counts; summed over queries, not averaged
  };
  Kind kind = Kind::ndcg;
  int cutoff = 0;      ///< rank; 0: all hits
  int relevant = 1;    ///< lowest grade that counts as relevant; nDCG and Judged do not use it
  std::string name;    ///< as it was asked for, and as it is printed

  bool is_count() const noexcept { return kind >= Kind::returned; }
};

/// Reads a measure's name: nDCG@10, MAP or AP, RR, RR@10, MRR, P@10, R@100, Judged@10, num_q, num_ret, num_rel,
/// num_rel_ret, each in any case; trec_eval's map, recip_rank, P_10, recall_100, ndcg, ndcg_cut_10; with a grade as
/// P@10(rel>=2) or P(rel=2)@10. Throws Error `usage` with the nearest names for anything else.
Measure parse_measure(std::string_view name);
/// The names between commas, outside of parentheses.
std::vector<Measure> parse_measures(std::string_view names);
/// What parse_measure knows, for help texts.
std::string_view measure_names() noexcept;

struct EvaluationOptions {
  ScoreType scores = ScoreType::single_precision;
  bool complete = false;  ///< average over all queries of the qrels; those that the run misses count 0 (trec_eval -c)
};

struct Evaluation {
  /// One value a measure, for each query that is in both run and qrels.
  std::map<std::string, std::vector<double>> queries;
  std::vector<double> all;  ///< mean or sum, one a measure
  std::size_t averaged_over = 0;
};

Evaluation evaluate(const Run& run, const Qrels& qrels, const std::vector<Measure>& measures,
                    const EvaluationOptions& options = {});

}  // namespace relucent::index_tools
