#include "relucent/combine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "relucent/error.h"

namespace relucent {
namespace {

void require_finite(double value, std::size_t index, const char* what) {
  if (std::isfinite(value)) return;
  throw Error(ErrorKind::invalid_data, fmt::format("candidate {}", index + 1),
              fmt::format("{} is not a finite number", what), "check the scorer and [rescorer] weights");
}

// Normalizes the values of one kind of score in place.
void normalize(std::vector<double>& values, Normalize how) {
  if (values.empty() || how == Normalize::none) return;
  if (how == Normalize::sigmoid) {
    for (double& value : values) value = 1.0 / (1.0 + std::exp(-value));
    return;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double least = *low, range = *high - *low;
  for (double& value : values) value = range > 0 ? (value - least) / range : 0.0;
}

double combined(ScoreMode mode, double rescore_term, double first_stage_term) {
  switch (mode) {
    case ScoreMode::replace: return rescore_term;
    case ScoreMode::total: return rescore_term + first_stage_term;
    case ScoreMode::multiply: return rescore_term * first_stage_term;
    case ScoreMode::avg: return (rescore_term + first_stage_term) / 2;
    case ScoreMode::max: return std::max(rescore_term, first_stage_term);
    case ScoreMode::min: return std::min(rescore_term, first_stage_term);
  }
  return rescore_term;
}

std::vector<CombinedHit> rescored_hits(std::span<const double> first_stage_scores,
                                       std::span<const std::optional<float>> logits, const StageConfig& config) {
  std::vector<CombinedHit> hits;
  std::vector<double> first_stage, second_stage;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!logits[i]) continue;
    require_finite(*logits[i], i, "the logit");
    CombinedHit hit;
    hit.index = i;
    hit.rescored = true;
    hits.push_back(hit);
    first_stage.push_back(first_stage_scores[i]);
    second_stage.push_back(*logits[i]);
  }
  normalize(first_stage, config.normalize);
  normalize(second_stage, config.normalize);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    CombinedHit& hit = hits[i];
    hit.rescore_term = config.rescore_weight * second_stage[i];
    if (config.score_mode != ScoreMode::replace) hit.first_stage_term = config.query_weight * first_stage[i];
    hit.score = static_cast<float>(combined(config.score_mode, hit.rescore_term, hit.first_stage_term));
    require_finite(hit.score, hit.index, "the combined score");
  }
  // Stable: equal scores keep the first stage's order.
  std::stable_sort(hits.begin(), hits.end(),
                   [](const CombinedHit& a, const CombinedHit& b) { return a.score > b.score; });
  return hits;
}

}  // namespace

std::vector<CombinedHit> combine(std::span<const double> first_stage_scores,
                                 std::span<const std::optional<float>> logits, const StageConfig& config,
                                 std::optional<double> min_score) {
  if (logits.size() > first_stage_scores.size()) {
    throw Error(ErrorKind::usage, "combine", "there are more logits than hits", "pass at most one logit per hit");
  }
  for (std::size_t i = 0; i < first_stage_scores.size(); ++i) {
    require_finite(first_stage_scores[i], i, "the first-stage score");
  }
  std::vector<CombinedHit> hits = rescored_hits(first_stage_scores, logits, config);

  const bool any_rescored = !hits.empty();
  double ceiling = std::numeric_limits<double>::max(), shift = 0;
  if (any_rescored) ceiling = std::nextafter(hits.back().score, std::numeric_limits<float>::lowest());
  bool first_of_the_rest = true;
  for (std::size_t i = 0; i < first_stage_scores.size(); ++i) {
    if (i < logits.size() && logits[i]) continue;
    if (first_of_the_rest && any_rescored) shift = std::min(0.0, ceiling - first_stage_scores[i]);
    first_of_the_rest = false;
    CombinedHit hit;
    hit.index = i;
    ceiling = std::min(ceiling, first_stage_scores[i] + shift);
    hit.score = static_cast<float>(ceiling);
    hits.push_back(hit);
  }

  if (min_score) {
    // A float like the scores, so that a min_score of 0.7 accepts a score of 0.7F.
    const auto least = static_cast<float>(*min_score);
    const auto lower =
        std::find_if(hits.begin(), hits.end(), [&](const CombinedHit& hit) { return hit.score < least; });
    hits.erase(lower, hits.end());
  }
  return hits;
}

}  // namespace relucent
