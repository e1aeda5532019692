#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/run.h"

namespace relucent::index_tools {

/// A measure, computed as in trec_eval; ERR as in TREC's gdeval.pl, RBP as in cwl_eval.
struct Measure {
  enum class Kind {
    ndcg,               ///< gain = grade (negative and unjudged: 0), discount log2(rank + 1), ideal from all judgments
    average_precision,  ///< over all relevant documents of the qrels
    reciprocal_rank,
    precision,    ///< divided by the cutoff, however few hits there are
    recall,       ///< 0 if nothing is relevant
    r_precision,  ///< precision among as many hits as there are relevant documents
    success,      ///< 1 if a relevant document is among the hits down to the cutoff, else 0
    /// bpref of Buckley and Voorhees (2004): judged hits only; a negative grade is not a judgment.
    binary_preference,
    /// ERR of Chapelle et al. (2009): a hit of grade g stops the reader with (2^g - 1) / 2^max_grade.
    expected_reciprocal_rank,
    /// RBP of Moffat and Zobel (2008): (1 - p) times the sum of p^(rank - 1) over the relevant hits.
    rank_biased_precision,
    judged,  ///< share of judged documents among the hits down to the cutoff
    returned,
    relevant,
    relevant_returned,
    queries,  ///< counts; summed over queries, not averaged
  };
  Kind kind = Kind::ndcg;
  int cutoff = 0;            ///< rank; 0: all hits
  int relevant = 1;          ///< lowest grade that counts as relevant; nDCG, ERR and Judged do not use it
  double persistence = 0.8;  ///< RBP's p
  int max_grade = 4;         ///< ERR's scale; 4 is gdeval.pl's
  std::string name;          ///< as requested and as printed

  bool is_count() const noexcept { return kind >= Kind::returned; }
};

/// Parses a measure's name, ignoring case: ir_measures' (nDCG@10, AP or MAP, RR, MRR@10, P@10, R@100 or Recall@100,
/// Rprec, Success@5, Bpref, ERR@20, RBP, Judged@10, NumQ, NumRet, NumRel, NumRelRet) and trec_eval's (ndcg,
/// ndcg_cut_10, map, map_cut_10, recip_rank, P_10, recall_100, Rprec, success_5, bpref, num_q, num_ret, num_rel,
/// num_rel_ret; P.10 is P_10). Parameters stand in parentheses after the name or the cutoff: P(rel=2)@10, MAP(rel>=2),
/// RBP(p=0.95,rel=2), ERR(max_rel=3)@20. Throws Error `usage` with the known names for anything else.
Measure parse_measure(std::string_view name);
/// Parses names separated by commas outside of parentheses.
std::vector<Measure> parse_measures(std::string_view names);
/// The names that parse_measure() knows, for help texts.
std::string measure_names();

struct EvaluationOptions {
  ScoreType scores = ScoreType::single_precision;
  bool complete = false;  ///< average over all queries of the qrels; missing ones count as 0 (trec_eval -c)
};

struct Evaluation {
  /// One value per measure, for each query that is in both run and qrels.
  std::map<std::string, std::vector<double>> queries;
  std::vector<double> all;  ///< mean or sum, one per measure
  std::size_t averaged_over = 0;
};

/// Throws Error `invalid_data` for a grade above ERR's scale.
Evaluation evaluate(const Run& run, const Qrels& qrels, const std::vector<Measure>& measures,
                    const EvaluationOptions& options = {});

}  // namespace relucent::index_tools
