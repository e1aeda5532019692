#pragma once

#include <memory>

#include "relucent/config.h"
#include "relucent/scorer.h"

namespace relucent {

/// The built-in scorer for a checkpoint of late interaction, on the device of `config`. Throws Error: `usage` naming a
/// key of [rescorer] that does not apply to it.
std::shared_ptr<const Scorer> make_late_interaction_scorer(const ScorerConfig& config, OnError on_error);

}  // namespace relucent
