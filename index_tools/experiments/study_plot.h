#pragma once

#include <string>

#include "index_tools/experiments/experiment.h"
#include "index_tools/experiments/study_report.h"

namespace relucent::index_tools {

/// The first measure by attention window, and time if it is a measure: a panel per column, a line per group of rows
/// whose names differ in the window alone; rows without a window are level lines, published figures dashed. With costs
/// instead: a panel for time and one for memory by length, both axes logarithmic, floors and published figures dashed.
/// As SVG. Throws Error `invalid_data` if there is nothing to plot.
std::string study_plot(const Experiment& experiment, const StudyReport& report);

/// Throws Error `usage` if study_plot() would have nothing to plot, whatever is computed.
void require_plot(const Experiment& experiment);

}  // namespace relucent::index_tools
