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
  /// For candidates that do not come from a searched index; none: only the inputs that candidates have are read.
  InputSources sources = {};
};

/// make_scorer() for each stage. Throws Error.
RELUCENT_API std::vector<std::shared_ptr<const Scorer>> make_scorers(const SecondStageConfig& config);
/// The stages of `config` with a scorer each; with_score_cache() where cache_mb is above 0. Throws Error `usage` for
/// another number of scorers or a null one.
RELUCENT_API std::vector<RescoringStage> make_stages(const SecondStageConfig& config,
                                                     std::vector<std::shared_ptr<const Scorer>> scorers);

/// Opens what the stages' scorers read of texts from elsewhere than a searched index: rescore_candidates() then brings
/// the inputs that candidates with a text lack.
///
/// @param index  of the same kind of texts; null: none
/// Throws Error, of kind `unsupported` if a scorer needs an index and there is none.
RELUCENT_API void open_inputs(std::span<RescoringStage> stages, std::shared_ptr<const InputIndex> index = nullptr);
/// Whether a stage's scorer reads inputs that cannot be made of texts alone (InputKind::needs_index).
RELUCENT_API bool need_index(std::span<const RescoringStage> stages);

/// Scorer::timed_score() of candidates with a text, for which the stage's sources bring the inputs that they lack.
RELUCENT_API ScoringStats score_candidates(const RescoringStage& stage, std::string_view query,
                                           std::vector<Candidate> candidates, std::span<CandidateScore> scores,
                                           const StopSignal& stop);

/// What a stage made of a candidate that it scored.
struct StageScore {
  std::size_t stage = 0;
  CandidateScore score;
  CombinedHit combined;  ///< its place in the stage's order
};

/// A candidate of the first rescore window.
struct RescoredCandidate {
  std::vector<StageScore> stages;  ///< those that scored it, from the first on; none: it has no text

  /// What the last of these stages made of it; null without any.
  const StageScore* last() const noexcept { return stages.empty() ? nullptr : &stages.back(); }
};

/// One query's candidates after the second stage. Indices are those of the candidates.
struct RescoredCandidates {
  std::vector<RescoredCandidate> window;  ///< the first rescore window; empty if nothing was rescored
  std::vector<CombinedHit> order;         ///< of all candidates
  std::vector<StageReport> stages;        ///< those that finished; none if the order is the first stage's
  std::size_t stages_wanted = 0;          ///< as many as there are
  RescoreStatus status = RescoreStatus::no_hits;
  bool in_first_stage_order = false;  ///< nothing was rescored: order and scores are the first stage's
  bool degraded = false;              ///< failed, or not scored by the configured device
  std::string reason;                 ///< why it is degraded or not rescored, with the remedy if there is one
  std::optional<ErrorKind> failure;   ///< the kind of failure if status is `failed`
  StageTimes times;                   ///< fetch, tokenize, encode, device and combine, of all stages
  StopSignal stop;                    ///< the caller's, within the timeout

  /// What the last stage that scored a candidate made of it; null if none did.
  RELUCENT_API const StageScore* last_score(std::size_t candidate) const noexcept;
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
/// @param config      what holds for all stages: on_error, min_score and timeout
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
