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
  std::size_t index = 0;        ///< which hit: its position in the first stage's order, from 0
  float score = 0;              ///< combined, or the shifted first-stage score where rescored is false
  bool rescored = false;        ///< it was in the rescore window and has a logit
  double first_stage_term = 0;  ///< query_weight * normalized first-stage score (0 in `replace` and where not rescored)
  double rescore_term = 0;      ///< rescore_weight * normalized logit (0 where not rescored)
};

/// Orders hits by first-stage score and logit together, as [rescorer] score_mode, query_weight, rescore_weight,
/// normalize and min_score say.
///
/// @param first_stage_scores  [hits] in the first stage's order; hit i has first-stage rank i + 1
/// @param logits              [rescore window], at most one a hit; nothing for a hit without text
///
/// With f and s the first-stage score and the logit after normalization, each over the hits that have a logit,
/// a = rescore_weight * s and c = query_weight * f:
///   replace a | total a + c | multiply a * c | avg (a + c) / 2 | max max(a, c) | min min(a, c).
/// minmax maps x to (x - min) / (max - min), 0 where all are equal; sigmoid to 1 / (1 + exp(-x)). All of it is computed
/// in double, left to right, and rounded to float once. Order: combined score, higher first, then first-stage rank.
///
/// Below them follow the hits without a logit and then those beyond the window, in the first stage's order. Their
/// first-stage scores are lowered by one amount, just as much as puts the first of them below the last rescored hit,
/// and not at all where it is there already or where no hit has a logit. Scores never increase down the list.
///
/// min_score cuts the whole list before the first score that is lower.
/// Throws Error `invalid_data` naming the candidate where a score or a combination is not finite. Pure; thread-safe.
RELUCENT_API std::vector<CombinedHit> combine(std::span<const double> first_stage_scores,
                                              std::span<const std::optional<float>> logits,
                                              const RescorerConfig& config);

}  // namespace relucent
