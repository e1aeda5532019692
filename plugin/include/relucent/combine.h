#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// A hit's place in the combined order.
struct CombinedHit {
  std::size_t index = 0;        ///< the hit's position in first-stage order, from 0
  float score = 0;              ///< combined score, or the shifted first-stage score if not rescored
  bool rescored = false;        ///< whether the hit was in the rescore window and has a logit
  double first_stage_term = 0;  ///< query_weight * normalized first-stage score (0 in `replace` and if not rescored)
  double rescore_term = 0;      ///< rescore_weight * normalized logit (0 if not rescored)
};

/// Orders hits by first-stage score and logit, following a stage's score_mode, query_weight, rescore_weight and
/// normalize.
///
/// @param first_stage_scores  [hits] in first-stage order; hit i has first-stage rank i + 1
/// @param logits              [rescore window], at most one per hit; nullopt for a hit without text
/// @param min_score           if set, the list ends before the first hit with a lower score
///
/// With f and s the first-stage score and the logit, each normalized over the hits that have a logit,
/// a = rescore_weight * s and c = query_weight * f:
///   replace a | total a + c | multiply a * c | avg (a + c) / 2 | max max(a, c) | min min(a, c).
/// minmax maps x to (x - min) / (max - min), or to 0 if all are equal; sigmoid maps x to 1 / (1 + exp(-x)). Everything
/// is computed in double, left to right, and rounded to float once. Order: higher combined score first, then
/// first-stage rank.
///
/// The hits without a logit and then the hits beyond the window follow, in first-stage order. All their first-stage
/// scores are lowered by the same amount, the least that puts the first of them below the last rescored hit. The amount
/// is 0 if that hit is lower already or no hit has a logit. Scores never increase down the list.
///
/// Throws Error `invalid_data` naming the candidate if a score or a combination is not finite. Pure; thread-safe.
RELUCENT_API std::vector<CombinedHit> combine(std::span<const double> first_stage_scores,
                                              std::span<const std::optional<float>> logits, const StageConfig& config,
                                              std::optional<double> min_score = std::nullopt);

}  // namespace relucent
