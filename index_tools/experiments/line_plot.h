#pragma once

#include <string>
#include <utility>
#include <vector>

namespace relucent::index_tools {

/// A line of a plot.
struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x ascending
  std::string like = {};  ///< the series whose colour a dashed line without a legend takes; empty: a line of its own
};

struct PlotPanel {
  std::string title, x_title, y_title;
  bool log_x = false, log_y = false;  ///< to base 2, to base 10; values must be positive
  std::vector<std::string> x_names;   ///< names of x = 0, 1, 2 ...; empty: numbers
  std::vector<PlotSeries> series;
  std::string dashed = {};  ///< what dashed lines are, for the legend
};

/// Panels below each other as SVG, readable on white and on black; a tooltip on each point shows its value. Panels
/// without points are left out. Throws Error `invalid_data` if none has any.
std::string line_plot(const std::string& title, const std::vector<PlotPanel>& panels);

}  // namespace relucent::index_tools
