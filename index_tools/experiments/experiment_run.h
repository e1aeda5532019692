#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/experiments/experiment_file.h"
#include "index_tools/experiments/study_report.h"
#include "relucent/rescore_candidates.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

/// A file or folder that an experiment names.
struct ExperimentPart {
  std::string what;  ///< "model \"sparse 4\"", "judgments of task \"passage 2021\""
  std::filesystem::path path;
  std::string get;  ///< where one gets it
  bool present = false;
  bool replaced = false;  ///< absent, and the bundled checkpoint takes its place
  /// What cannot be computed without it: the rows of a model or a run, the task of a file.
  std::vector<std::string> rows = {}, tasks = {};
};

/// Everything that the experiment needs from outside its file.
std::vector<ExperimentPart> parts_of(const Experiment& experiment);

/// "missing: model "x", PATH; where to get it", or what takes its place.
std::string describe(const ExperimentPart& part);

/// The row's settings with its model's folder, or the bundled checkpoint's if that takes its place. Requires that the
/// model is not missing.
RescorerConfig resolved(const Experiment& experiment, const ExperimentRow& row);

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
  /// What reranks by stages of which some have a MIR: it makes graphs with the statistics of `index`. Throws Error.
  std::function<Rerank(const std::filesystem::path& index, std::vector<RescoringStage> stages)> with_graphs;
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
