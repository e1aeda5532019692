#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "index_tools/experiments/experiment.h"
#include "index_tools/experiments/toml_table.h"

namespace relucent::index_tools {

/// One of the lists of a [[rows]] entry, whose combinations are rows.
struct RowList {
  std::string key;       ///< "window", as in a name's {window}
  std::size_t size = 0;  ///< 0: absent
  std::function<void(ExperimentRow&, std::size_t)> apply;
  std::function<std::string(const ExperimentRow&)> shown;  ///< the value in names
};

/// Reads the lists of models and settings. `staged`: the row's configuration has stages, which only some of the lists
/// apply to; `costs`: the experiment has lengths of its own. Throws Error for others, and for values that do not exist.
std::vector<RowList> read_row_lists(TomlTable& table, bool staged, bool costs);

/// A row for each combination of the lists' values, the last list's changing fastest. `pattern` names them: "{model}
/// w={window}"; empty: the values of the lists that have several.
std::vector<ExperimentRow> combinations(const ExperimentRow& base, const std::vector<RowList>& lists,
                                        const std::string& pattern);

}  // namespace relucent::index_tools
