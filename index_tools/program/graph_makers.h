#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "index_tools/evaluation/rerank_input.h"
#include "plugin/lucene/graphs/graph_maker.h"
#include "relucent/config.h"
#include "relucent/rescore_candidates.h"
#include "relucent/stop.h"

namespace relucent::program {

/// Makes the graphs of candidates, for stages with a MIR: [stages].
using GraphMakers = std::vector<std::optional<GraphMaker>>;

/// Whether a stage has a MIR.
bool has_mir(std::span<const RescoringStage> stages);

/// Makers of the stages that have a MIR, with the statistics of `index`, which is not opened if there is no such stage.
/// Throws Error.
GraphMakers make_graph_makers(const std::filesystem::path& index, const Config& config,
                              std::span<const RescoringStage> stages);

/// rescore_candidates() for a query of a rerank file, with graphs that are made when a stage needs them.
RescoredCandidates rescore_with_graphs(const SecondStageConfig& config, std::span<const RescoringStage> stages,
                                       const GraphMakers& makers, const index_tools::RerankQuery& query,
                                       const StopSignal& stop);

}  // namespace relucent::program
