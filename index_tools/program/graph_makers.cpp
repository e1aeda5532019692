#include "index_tools/program/graph_makers.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "plugin/second_stage/cascade.h"
#include "relucent/scorer.h"

namespace relucent::program {

bool has_mir(std::span<const RescoringStage> stages) {
  return std::ranges::any_of(stages,
                             [](const RescoringStage& stage) { return stage.scorer->passage_model() != nullptr; });
}

GraphMakers make_graph_makers(const std::filesystem::path& index, const Config& config,
                              std::span<const RescoringStage> stages) {
  GraphMakers makers(stages.size());
  std::shared_ptr<const IndexStatistics> statistics;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const PassageModel* const model = stages[i].scorer->passage_model();
    if (model == nullptr) continue;
    if (!statistics) statistics = open_statistics(index, config);
    makers[i].emplace(model->graph_form(), config.first_stage, statistics);
  }
  return makers;
}

RescoredCandidates rescore_with_graphs(const SecondStageConfig& config, std::span<const RescoringStage> stages,
                                       const GraphMakers& makers, const index_tools::RerankQuery& query,
                                       const StopSignal& stop) {
  const std::vector<Candidate> texts = index_tools::scorer_candidates(query);
  std::vector<double> scores;
  for (const Candidate& candidate : texts) scores.push_back(candidate.first_stage_score);
  std::deque<std::string> graphs;
  const auto candidates = [&](std::size_t stage, std::span<const std::size_t> places) {
    std::vector<Candidate> chosen;
    for (const std::size_t place : places) {
      Candidate& candidate = chosen.emplace_back(texts[place]);
      if (makers[stage] && !candidate.text.empty())
        candidate.graph = graphs.emplace_back(makers[stage]->make(candidate.text, stop));
    }
    return chosen;
  };
  return rescore_in_stages(config, stages, query.text, scores, candidates, stop, {});
}

}  // namespace relucent::program
