#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "relucent/rescore_candidates.h"

namespace relucent {

/// Whether a scorer has something to read of the candidate: a text, or what stands for it.
bool has_something_to_read(const Candidate& candidate, const InputKinds& kinds);

/// Brings the inputs that candidates with a text lack, from the stage's sources for texts from elsewhere.
///
/// @param bytes  keeps what was brought
/// Throws Error, of kind `deadline` or `interrupted` when `stop` is due.
void bring_inputs(const RescoringStage& stage, std::span<Candidate> candidates, std::deque<std::string>& bytes,
                  const StopSignal& stop);

}  // namespace relucent
