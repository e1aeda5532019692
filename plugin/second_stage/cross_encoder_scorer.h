#pragma once

#include <memory>

#include "relucent/scorer.h"

namespace relucent {

/// The built-in scorer: a CrossEncoder with the checkpoint, device and limits of `config`. Throws Error.
std::shared_ptr<const Scorer> make_cross_encoder_scorer(const ScorerConfig& config, OnError on_error);

}  // namespace relucent
