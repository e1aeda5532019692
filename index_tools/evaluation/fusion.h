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

/// How scores of different runs are made comparable, query by query. If all scores of a query are equal, min_max, sum
/// and z_score give 0.
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
  double k = 60;                                                   ///< for reciprocal_rank
  std::vector<double> weights;                                     ///< one per run; empty: 1 each
  ScoreNormalization normalization = ScoreNormalization::min_max;  ///< for weighted_sum
  RunOrder order = RunOrder::score;                                ///< how a run's hits are ranked
  std::size_t depth = 0;                                           ///< hits used per run and query; 0: all
  std::size_t hits = 0;                                            ///< hits per query of the result; 0: all
};

/// The names on a command line: rrf, sum; none, min-max, max, sum, z-score, rank. Throw Error `usage` for others.
FusionMethod parse_fusion_method(std::string_view name);
ScoreNormalization parse_score_normalization(std::string_view name);

/// Fuses runs into one with the documents of all runs for each query. A run without the document or the query
/// contributes nothing. Queries come in the order of the first run, then of the second and so on. Hits are ordered by
/// the fused score, ties by docno, descending, as in trec_eval; documents with the same summands have the same score,
/// whichever runs the summands come from. Throws Error: `usage` if there are no runs, if the numbers of weights and
/// runs differ, if k or a weight is not finite, if k is below 0 or all weights are 0; `invalid_data` for a score that
/// is not finite as a 32-bit float (weighted_sum), for a query whose highest score is not above 0
/// (ScoreNormalization::max), and as ranked_queries() does.
std::vector<RankedQuery> fuse(const std::vector<Run>& runs, const FusionOptions& options);

}  // namespace relucent::index_tools
