#include "index_tools/experiments/experiment_parts.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "base/file/file_io.h"

namespace relucent::index_tools {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) { return exists(status_of(path)); }

std::vector<ExperimentPart> parts_of(const Experiment& experiment) {
  std::vector<ExperimentPart> parts;
  const auto add = [&parts](std::string what, const fs::path& path, const std::string& get) -> ExperimentPart& {
    parts.push_back({std::move(what), path, get, is_there(path)});
    return parts.back();
  };
  for (const ExperimentModel& model : experiment.models) {
    if (model.folder.empty()) continue;
    ExperimentPart& part = add(fmt::format("model \"{}\"", model.name), model.folder, model.get);
    part.replaced = !part.present && model.or_bundled;
    for (const ExperimentRow& row : experiment.rows) {
      if (row.kind == ExperimentRow::Kind::model && row.model == model.name) part.rows.push_back(row.name);
    }
  }
  for (const ExperimentRow& row : experiment.rows) {
    std::set<std::string> models;
    for (const StageConfig& stage : row.rescorer.stages) {
      if (stage.model.empty() || !models.insert(stage.model).second) continue;
      const std::string what = fmt::format("a stage's model of row \"{}\"", row.name);
      add(what, stage.model, "").rows = {row.name};
    }
  }
  for (const ExperimentTask& task : experiment.tasks) {
    const std::pair<const char*, const fs::path*> files[] = {{"candidates", &task.candidates},
                                                             {"index", &task.index},
                                                             {"topics", &task.topics},
                                                             {"run", &task.run},
                                                             {"judgments", &task.qrels}};
    for (const auto& [what, file] : files) {
      if (!file->empty()) add(fmt::format("{} of task \"{}\"", what, task.name), *file, task.get).tasks = {task.name};
    }
    // Only rows with a MIR need them.
    if (!task.statistics.empty()) add(fmt::format("statistics of task \"{}\"", task.name), task.statistics, task.get);
    if (!task.weights.empty()) add(fmt::format("weights of task \"{}\"", task.name), task.weights, task.get);
    if (!task.log.empty()) add(fmt::format("query log of task \"{}\"", task.name), task.log, task.get);
    if (!task.entities.empty()) add(fmt::format("entities of task \"{}\"", task.name), task.entities, task.get);
  }
  for (const ExperimentRow& row : experiment.rows) {
    for (const auto& [task, file] : row.run)
      add(fmt::format("run of row \"{}\" for task \"{}\"", row.name, task), file, "").rows = {row.name};
  }
  return parts;
}

std::string describe(const ExperimentPart& part) {
  std::string text = fmt::format("{}: {}, {}", part.present ? "present" : "missing", part.what, part.path.string());
  if (part.replaced) text += "; the bundled checkpoint takes its place";
  if (!part.present && !part.get.empty()) text += "; " + part.get;
  return text;
}

SecondStageConfig resolved(const Experiment& experiment, const ExperimentRow& row) {
  SecondStageConfig config = row.rescorer;
  if (row.model.empty()) return config;
  const ExperimentModel& model = experiment.model(row.model);
  config.model = model.or_bundled && !is_there(model.folder) ? std::string() : model.folder.string();
  return config;
}

}  // namespace relucent::index_tools
