#pragma once

#include <filesystem>
#include <string_view>

#include "index_tools/experiments/experiment.h"

namespace relucent::index_tools {

/// Reads an experiment. Relative paths in it are below `data`, or if that is empty, below the file's own `data`, which
/// is relative to the file's folder. A [[rows]] entry becomes a row for each combination of its lists. Throws Error as
/// load_config() does: strict, with file:line:column and a remedy.
Experiment load_experiment(const std::filesystem::path& file, const std::filesystem::path& data = {});
/// The same for TOML text; `folder` is the file's.
Experiment parse_experiment(std::string_view toml, std::string_view name, const std::filesystem::path& folder,
                            const std::filesystem::path& data = {});

}  // namespace relucent::index_tools
