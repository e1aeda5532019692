#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/combine.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/export.h"
#include "relucent/rescore_report.h"
#include "relucent/scorer.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

/// A stage of the second stage: what scores, and its settings.
struct RescoringStage {
  std::shared_ptr<const Scorer> scorer;
  StageConfig config;
};

/// make_scorer() for each stage. Throws Error.
RELUCENT_API std::vector<std::shared_ptr<const Scorer>> make_scorers(const SecondStageConfig& config);
/// The stages of `config` with a scorer each; with_score_cache() where cache_mb is above 0. Throws Error `usage` for
/// another number of scorers or a null one.
RELUCENT_API std::vector<RescoringStage> make_stages(const SecondStageConfig& config,
                                                     std::vector<std::shared_ptr<const Scorer>> scorers);

/// What a stage did for one query. Indices are those of the candidates.
struct StageResult {
  std::string scorer;                                 ///< Scorer::describe()
  std::vector<std::optional<CandidateScore>> scores;  ///< [first rescore window]; nullopt: not scored by this stage
  std::vector<CombinedHit> order;                     ///< of all candidates after this stage
  StageTimes times;                                   ///< fetch, tokenize, encode, device and combine

  /// How many of the scores are from a cache.
  RELUCENT_API std::int32_t cached() const;
};

/// One query's candidates after the second stage.
struct RescoredCandidates {
  /// [first rescore window], of the last stage that scored the candidate; nullopt for a candidate without text
  std::vector<std::optional<CandidateScore>> scores;
  std::vector<StageResult> stages;  ///< those that finished; none if the order is the first stage's
  std::size_t stages_wanted = 0;    ///< as many as there are
  std::vector<CombinedHit> order;   ///< indices into the candidates
  RescoreStatus status = RescoreStatus::no_hits;
  bool in_first_stage_order = false;  ///< nothing was rescored: order and scores are the first stage's
  bool degraded = false;              ///< failed, or not scored by the configured device
  std::string reason;                 ///< why it is degraded or not rescored, with the remedy if there is one
  std::optional<ErrorKind> failure;   ///< the kind of failure if status is `failed`
  StageTimes times;                   ///< fetch, tokenize, encode, device and combine, of all stages

  /// Which stage gave scores[candidate]: an index into `stages`. Requires that there is a score.
  RELUCENT_API std::size_t stage_of(std::size_t candidate) const;
  /// What became of a candidate. Its first-stage score and rank are the caller's to set.
  RELUCENT_API HitOutcome outcome(std::size_t candidate) const;
  /// The last stage's logit of each candidate of the first rescore window: one model's scores, or none if that stage
  /// did not finish.
  RELUCENT_API std::vector<std::optional<float>> last_logits() const;
  /// What happened, with counts.
  RELUCENT_API RescoreReport report() const;
};

/// Turns the scores of the stage before and the logits of the last stage into an order. The default is combine(); a
/// host may supply its own rule.
using CombineRule =
    std::function<std::vector<CombinedHit>(std::span<const double>, std::span<const std::optional<float>>)>;

/// The second stage without an index: scores the best config.window candidates and orders all candidates. The searcher,
/// the command `rerank` and all other front ends call it, so they degrade in the same way.
///
/// @param config      what holds for all stages: on_error and min_score
/// @param candidates  in first-stage order; an empty text means that the candidate has no text
/// After a failure, a missed deadline or a score that is not finite, returns the first-stage order, marked degraded;
/// with on_error = fail it throws Error instead. Always throws Error `interrupted` if `stop` was requested.
/// Thread-safe.
///
/// With several stages, each scores the best `window` candidates in the order of the stage before and puts them first;
/// combine() gets the scores of that order as first-stage scores. So what a later stage scored stands before what it
/// did not score, and no two scales of scores mix. A failure in any stage is one of the whole: the result is the first
/// stage's order or, with on_error = previous_stage, that of the stages that finished, marked degraded.
RELUCENT_API RescoredCandidates rescore_candidates(const SecondStageConfig& config,
                                                   std::span<const RescoringStage> stages, std::string_view query,
                                                   std::span<const Candidate> candidates, const StopSignal& stop,
                                                   const CombineRule& combine_rule = {});
/// The same with `config` as the only stage, whatever config.stages contains.
RELUCENT_API RescoredCandidates rescore_candidates(const Scorer& scorer, std::string_view query,
                                                   std::span<const Candidate> candidates,
                                                   const SecondStageConfig& config, const StopSignal& stop,
                                                   const CombineRule& combine_rule = {});

/// A result in first-stage order with first-stage scores.
RELUCENT_API RescoredCandidates first_stage_order(std::span<const double> scores, RescoreStatus status,
                                                  std::string reason);

}  // namespace relucent
