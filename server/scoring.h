#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relucent/rescore_candidates.h"
#include "server/engine.h"

namespace relucent::server {

/// What engines have in common: the last stage's scorer on texts, with the inputs that the stage's sources bring.
RerankScores score_texts(const RescoringStage& stage, std::string_view query, std::span<const std::string> texts,
                         const StopSignal& stop);

/// `path` with the folders before it, unless it is empty: without_paths() recognizes what begins with a '/'.
std::string absolute_path(const std::string& path);
/// The same for the paths of the index and the models in a profile. What an engine opens, it opens by these.
Config with_absolute_paths(Config config);

/// What /info reports of the last stage's scorer.
ModelInfo model_info(const Config& config, const Scorer& scorer);

/// The sum over the stages.
ScoreCacheCounts cache_counts(std::span<const RescoringStage> stages);

}  // namespace relucent::server
