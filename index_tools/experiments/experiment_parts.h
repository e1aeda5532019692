#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "index_tools/experiments/experiment.h"

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
SecondStageConfig resolved(const Experiment& experiment, const ExperimentRow& row);

/// Whether the file or folder exists. Throws Error `io` if that cannot be found out.
bool is_there(const std::filesystem::path& path);

}  // namespace relucent::index_tools
