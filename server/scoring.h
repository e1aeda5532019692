#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "relucent/rescore_candidates.h"
#include "server/engine.h"

namespace relucent::server {

/// Makes the record of a text's graph, for the scorer of a MIR.
using MakeGraph = std::function<std::string(std::string_view text, const StopSignal& stop)>;

/// What engines have in common: the last stage's scorer on texts alone. `make_graph` may be empty.
RerankScores score_texts(const Scorer& scorer, const MakeGraph& make_graph, std::string_view query,
                         std::span<const std::string> texts, const StopSignal& stop);

/// What /info says of the last stage's scorer.
ModelInfo model_info(const Config& config, const Scorer& scorer);

/// The sum over the stages.
ScoreCacheCounts cache_counts(std::span<const RescoringStage> stages);

}  // namespace relucent::server
