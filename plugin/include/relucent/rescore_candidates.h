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

/// What became of an answer's hits in the second stage.
enum class RescoreStatus {
  rescored,       ///< the model scored hits of the rescore window
  no_hits,        ///< the first stage found nothing
  no_query_text,  ///< not rescored: the query has no text for the model (a MatchAllDocsQuery, say). No failure
  no_hit_text,    ///< not rescored: no hit of the rescore window has stored text. No failure
  failed,         ///< not rescored: the second stage failed or came too late
};
/// "rescored", "no_hits", "no_query_text", "no_hit_text", "failed".
RELUCENT_API const char* to_string(RescoreStatus status) noexcept;

/// One query's candidates after the second stage.
struct RescoredCandidates {
  std::vector<std::optional<CandidateScore>> scores;  ///< [rescore window]; nothing for a candidate without text
  std::vector<CombinedHit> order;                     ///< indices into the candidates
  RescoreStatus status = RescoreStatus::no_hits;
  bool in_first_stage_order = false;  ///< nothing was rescored: order and scores are the first stage's
  bool degraded = false;              ///< failed, or scored by something else than configured
  std::string reason;                 ///< why it is degraded or not rescored, with the remedy where there is one
  std::optional<ErrorKind> failure;   ///< of what `failed`
  StageTimes times;                   ///< tokenize, encode, device and combine
};

/// From first-stage scores and logits to an order; combine() unless a host has a rule of its own.
using CombineRule =
    std::function<std::vector<CombinedHit>(std::span<const double>, std::span<const std::optional<float>>)>;

/// The second stage without any index: scores the best config.window candidates and orders all of them. The searcher,
/// the command `rerank` and every other front end go through it, so that they degrade alike.
///
/// @param candidates  in the first stage's order; an empty text means that there is none
/// A failure, a missed deadline or scores that are not finite give the first stage's order, marked degraded, or throw
/// Error with on_error = fail. Throws Error `interrupted` in either case where `stop` was requested. Thread-safe.
RELUCENT_API RescoredCandidates rescore_candidates(const Scorer& scorer, std::string_view query,
                                                   std::span<const Candidate> candidates, const RescorerConfig& config,
                                                   const StopSignal& stop, const CombineRule& combine_rule = {});

/// The first stage's order and scores as an answer.
RELUCENT_API RescoredCandidates first_stage_order(std::span<const double> scores, RescoreStatus status,
                                                  std::string reason);

}  // namespace relucent
