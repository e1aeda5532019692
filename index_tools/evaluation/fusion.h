#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/run_formats.h"

namespace relucent::index_tools {

/// How several runs become one. With w_i the weight of run i:
enum class FusionMethod {
  /// Reciprocal rank fusion of Cormack, Clarke and Büttcher (2009): the sum of w_i / (k + rank in run i), ranks from 1.
  reciprocal_rank,
  /// The sum of w_i times the normalised score in run i.
  weighted_sum,
};

/// How a run's scores are made comparable with another's, query by query. Where all scores of a query are equal,
/// min_max, sum and z_score give 0.
enum class ScoreNormalization {
  none,
  min_max,  ///< (score - lowest) / (highest - lowest)
  max,      ///< score / highest; the highest must be above 0
  sum,      ///< (score - lowest) / sum of (score - lowest)
  z_score,  ///< (score - mean) / standard deviation, over n
  rank,     ///< 1 - (rank - 1) / hits
};

struct FusionOptions {
  FusionMethod method = FusionMethod::reciprocal_rank;
  double k = 60;                                                   ///< of reciprocal_rank
  std::vector<double> weights;                                     ///< one per run; empty: 1 each
  ScoreNormalization normalization = ScoreNormalization::min_max;  ///< of weighted_sum
  RunOrder order = RunOrder::score;                                ///< what ranks a run's hits
  std::size_t depth = 0;                                           ///< hits of each run that are looked at, 0: all
  std::size_t hits = 0;                                            ///< hits of the result per query, 0: all
};

/// The names on a command line: rrf, sum; none, min-max, max, sum, z-score, rank. Throw Error `usage` for others.
FusionMethod parse_fusion_method(std::string_view name);
ScoreNormalization parse_score_normalization(std::string_view name);

/// The runs as one: every document that a run has for a query. A run without the document or without the query adds
/// nothing. The queries come in the order of the first run, then of the second and so on. Hits are ordered by the fused
/// score, equal ones as in trec_eval by docno, descending; documents with the same summands have the same score,
/// whatever run each summand comes from. Throws Error: `usage` for no runs, another number of weights than of runs, and
/// a k or weight that is not finite, a k below 0 or weights that are all 0; `invalid_data` where weighted_sum meets a
/// score that is not finite as a 32-bit float, ScoreNormalization::max where a query's highest score is not above 0,
/// and as ranked_queries().
std::vector<RankedQuery> fuse(const std::vector<Run>& runs, const FusionOptions& options);

}  // namespace relucent::index_tools
