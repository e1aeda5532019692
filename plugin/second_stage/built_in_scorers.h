#pragma once

#include <memory>

#include "relucent/config.h"
#include "relucent/scorer.h"

namespace relucent {

// The built-in scorers for checkpoints of each kind, on the device of `config`. They throw Error: `usage` naming a key
// of [rescorer] that does not apply to such models.

/// The bundled checkpoint, which an empty [rescorer] model stands for, is of this kind.
std::shared_ptr<const Scorer> make_cross_encoder_scorer(const ScorerConfig& config, OnError on_error);
std::shared_ptr<const Scorer> make_late_interaction_scorer(const ScorerConfig& config, OnError on_error);
std::shared_ptr<const Scorer> make_mir_scorer(const ScorerConfig& config, OnError on_error);
std::shared_ptr<const Scorer> make_mix_encoder_scorer(const ScorerConfig& config, OnError on_error);

}  // namespace relucent
