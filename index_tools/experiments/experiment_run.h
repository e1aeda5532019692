#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/experiments/experiment.h"
#include "index_tools/experiments/study_report.h"
#include "relucent/rescore_candidates.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

/// How to run an experiment.
struct ExperimentRun {
  std::filesystem::path cache;  ///< folder of the results
  std::size_t topics = 0;       ///< only the first so many judged topics of each task; 0: all
  std::int32_t threads = 0;     ///< 0: every core
  std::filesystem::path runs;   ///< folder for a run file per row and task; empty: none are written
  /// BM25's best hits with their texts for a task with an index.
  std::function<RerankInput(const ExperimentTask&)> search;
  /// Reranks a topic's candidates. Throws Error.
  using Rerank = std::function<RescoredCandidates(const RerankQuery&, const StopSignal&)>;
  /// What reranks by stages of which some have a MIR: it makes graphs with the statistics of `index`, and with the
  /// task's weights and entities. Throws Error.
  std::function<Rerank(const ExperimentTask& task, const std::filesystem::path& index, const SecondStageConfig& config,
                       std::vector<RescoringStage> stages)>
      with_graphs;
  /// Called once, with the bytes of text that the models will read, and then with what was read so far.
  std::function<void(std::int64_t bytes)> begin = [](std::int64_t) {};
  std::function<void(std::int64_t candidates, std::int64_t bytes)> update = [](std::int64_t, std::int64_t) {};
  /// A remark for the user, such as a scorer's warning.
  std::function<void(const std::string&)> note = [](const std::string&) {};
  std::stop_token stop;
};

/// Computes what is present and not in the cache, and evaluates it. Rows and tasks of which parts are missing, and rows
/// whose model cannot be loaded or cannot score, have no values, and a note. Only topics with judgments are reranked.
/// Throws Error, also if nothing at all is present or can be computed, if a device fails, and `interrupted`; what was
/// computed until then is in the cache.
StudyReport run_experiment(const Experiment& experiment, const ExperimentRun& run);

}  // namespace relucent::index_tools
