#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/combine.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/export.h"
#include "relucent/scorer.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

/// The second stage's outcome for one query.
enum class RescoreStatus {
  rescored,       ///< the model scored hits of the rescore window
  no_hits,        ///< the first stage found nothing
  no_query_text,  ///< not rescored: the query has no text for the model (e.g. a MatchAllDocsQuery). Not a failure
  no_hit_text,    ///< not rescored: no hit of the rescore window has stored text. Not a failure
  failed,         ///< not rescored: the second stage failed or missed its deadline
};
/// "rescored", "no_hits", "no_query_text", "no_hit_text", "failed".
RELUCENT_API const char* to_string(RescoreStatus status) noexcept;

/// One query's candidates after the second stage.
struct RescoredCandidates {
  std::vector<std::optional<CandidateScore>> scores;  ///< [rescore window]; nullopt for a candidate without text
  std::vector<CombinedHit> order;                     ///< indices into the candidates
  RescoreStatus status = RescoreStatus::no_hits;
  bool in_first_stage_order = false;  ///< nothing was rescored: order and scores are the first stage's
  bool degraded = false;              ///< failed, or not scored by the configured device
  std::string reason;                 ///< why it is degraded or not rescored, with the remedy if there is one
  std::optional<ErrorKind> failure;   ///< the kind of failure if status is `failed`
  StageTimes times;                   ///< tokenize, encode, device and combine
};

/// Turns first-stage scores and logits into an order. The default is combine(); a host may supply its own rule.
using CombineRule =
    std::function<std::vector<CombinedHit>(std::span<const double>, std::span<const std::optional<float>>)>;

/// The second stage without an index: scores the best config.window candidates and orders all candidates. The searcher,
/// the command `rerank` and all other front ends call it, so they degrade in the same way.
///
/// @param candidates  in first-stage order; an empty text means that the candidate has no text
/// After a failure, a missed deadline or a score that is not finite, returns the first-stage order, marked degraded;
/// with on_error = fail it throws Error instead. Always throws Error `interrupted` if `stop` was requested.
/// Thread-safe.
RELUCENT_API RescoredCandidates rescore_candidates(const Scorer& scorer, std::string_view query,
                                                   std::span<const Candidate> candidates, const RescorerConfig& config,
                                                   const StopSignal& stop, const CombineRule& combine_rule = {});

/// A result in first-stage order with first-stage scores.
RELUCENT_API RescoredCandidates first_stage_order(std::span<const double> scores, RescoreStatus status,
                                                  std::string reason);

}  // namespace relucent
