#pragma once

#include "relucent/config.h"

namespace relucent::bm25 {

/// What [first_stage] sets of the scoring, in the types with which Lucene computes.
struct ScoringSettings {
  ScoringSettings() = default;
  explicit ScoringSettings(const FirstStageConfig& config)
      : scoring(config.scoring),
        k1(static_cast<float>(config.k1)),
        b(static_cast<float>(config.b)),
        mu(static_cast<float>(config.mu)),
        lambda(static_cast<float>(config.lambda)) {}

  FirstStageScoring scoring = FirstStageScoring::bm25;
  float k1 = 0.9F, b = 0.4F;
  float mu = 1000;      ///< of qld
  float lambda = 0.1F;  ///< of qljm
};

}  // namespace relucent::bm25
