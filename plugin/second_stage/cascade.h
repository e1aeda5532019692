#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "relucent/rescore_candidates.h"

namespace relucent {

/// Provides candidates [hits] by their indices, as the stage with this index reads them. Throws Error, also when `stop`
/// is due.
using CandidateSource =
    std::function<std::vector<Candidate>(std::size_t stage, std::span<const std::size_t> hits, const StopSignal& stop)>;

/// rescore_candidates() with candidates that are fetched when a stage needs them.
///
/// @param config  what holds for all stages: on_error, min_score and timeout
/// @param scores  [hits] of the first stage
/// @param stages  at least one
/// @param query   read after the first call of `candidates`, which may set it
RescoredCandidates rescore_in_stages(const SecondStageConfig& config, std::span<const RescoringStage> stages,
                                     const std::string& query, std::span<const double> scores,
                                     const CandidateSource& candidates, const StopSignal& stop,
                                     const CombineRule& combine_rule);

/// Whether a scorer has something to read of the candidate: a text, or what stands for it.
bool has_something_to_read(const Candidate& candidate, const InputKinds& kinds);

/// Brings the inputs that candidates with a text lack, from the stage's sources for texts from elsewhere.
///
/// @param bytes  keeps what was brought
/// Throws Error, of kind `deadline` or `interrupted` when `stop` is due.
void bring_inputs(const RescoringStage& stage, std::span<Candidate> candidates, std::deque<std::string>& bytes,
                  const StopSignal& stop);

}  // namespace relucent
