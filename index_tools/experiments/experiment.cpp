#include "index_tools/experiments/experiment.h"

#include <algorithm>

namespace relucent::index_tools {
namespace {

template <typename Named>
const Named* find(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const ExperimentModel& Experiment::model(std::string_view name) const { return *find(models, name); }

const ExperimentTask* Experiment::task(std::string_view name) const { return find(tasks, name); }

const ExperimentRow* Experiment::row(std::string_view name) const { return find(rows, name); }

std::vector<std::string> Experiment::columns() const {
  std::vector<std::string> names;
  for (const ExperimentTask& one : tasks) {
    if (one.shown) names.push_back(one.name);
  }
  for (const ExperimentAverage& one : averages) names.push_back(one.name);
  if (costs) {
    for (const std::int32_t length : costs->lengths) names.push_back(std::to_string(length));
  }
  return names;
}

std::string Experiment::reference_of(std::string_view column) const {
  const ExperimentTask* const task = find(tasks, column);
  const ExperimentAverage* const average = find(averages, column);
  const std::string own = task != nullptr ? task->reference : average != nullptr ? average->reference : "";
  return own.empty() ? reference : own;
}

std::string window_name(std::optional<std::int32_t> window) {
  if (!window) return "checkpoint";
  return *window < 0 || *window == kWidestWindow ? "inf" : std::to_string(*window);
}

}  // namespace relucent::index_tools
