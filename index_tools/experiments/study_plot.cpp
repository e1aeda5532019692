#include "index_tools/experiments/study_plot.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "index_tools/experiments/line_plot.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

// Narrow ones first, the unlimited one last.
std::vector<std::string> windows_of(const Experiment& experiment) {
  std::set<std::int64_t> windows;
  for (const ExperimentRow& row : experiment.rows) {
    if (const auto& window = row.rescorer.attention_window; window && row.kind == ExperimentRow::Kind::model)
      windows.insert(window_name(window) == "inf" ? std::int64_t{1} << 40 : *window);
  }
  std::vector<std::string> names;
  for (const std::int64_t window : windows)
    names.push_back(window == std::int64_t{1} << 40 ? "inf" : std::to_string(window));
  return names;
}

PlotSeries& series_of(std::vector<PlotSeries>& all, const std::string& name, const std::string& like) {
  auto series = std::find_if(all.begin(), all.end(), [&name](const PlotSeries& one) { return one.name == name; });
  if (series == all.end()) series = all.insert(all.end(), {name, {}, like});
  return *series;
}

void add_point(std::vector<PlotSeries>& all, const std::string& name, const std::string& like, double x, double y) {
  PlotSeries& series = series_of(all, name, like);
  series.points.emplace_back(x, y);
  std::sort(series.points.begin(), series.points.end());
}

PlotPanel by_window(const Experiment& experiment, const StudyReport& report, const StudyTable& table,
                    std::size_t column) {
  PlotPanel panel{
      report.columns[column], "attention window", table.measure, false, false, windows_of(experiment), {}, "published"};
  if (table.measure == kTimes) panel.y_title += " per candidate";
  const std::vector<std::string>& windows = panel.x_names;
  for (std::size_t r = 0; r < experiment.rows.size(); ++r) {
    const ExperimentRow& row = experiment.rows[r];
    const StudyCell& cell = table.cells[r][column];
    const bool windowed = row.kind == ExperimentRow::Kind::model && row.rescorer.attention_window.has_value();
    const std::string name = windowed ? row.series : row.name;
    series_of(panel.series, name, "");  // empty or not, so that a row has the same colour in all panels
    const auto add = [&](const std::optional<double>& value, const std::string& series, const std::string& like) {
      if (!value) return;
      if (windowed) {
        const auto place = std::find(windows.begin(), windows.end(), window_name(row.rescorer.attention_window));
        add_point(panel.series, series, like, static_cast<double>(place - windows.begin()), *value);
      } else {
        for (std::size_t i = 0; i < windows.size(); ++i)
          add_point(panel.series, series, like, static_cast<double>(i), *value);
      }
    };
    add(cell.value, name, "");
    add(cell.published, name + ", published", name);
  }
  return panel;
}

PlotPanel by_length(const StudyReport& report, const StudyTable& table) {
  PlotPanel panel{table.measure + " per candidate", "tokens", table.measure, true, true, {}, {}, "floors, published"};
  for (std::size_t r = 0; r < report.rows.size(); ++r) {
    for (std::size_t c = 0; c < report.columns.size(); ++c) {
      const StudyCell& cell = table.cells[r][c];
      const double length = std::strtod(report.columns[c].c_str(), nullptr);
      const auto add = [&](const std::optional<double>& value, const char* what) {
        if (!value || !(*value > 0)) return;
        add_point(panel.series, report.rows[r] + what, *what == '\0' ? "" : report.rows[r], length, *value);
      };
      add(cell.value, "");
      add(cell.floor, ", floor by operations");
      add(cell.floor_bytes, ", floor by bytes");
      add(cell.published, ", published");
    }
  }
  return panel;
}

}  // namespace

std::string study_plot(const Experiment& experiment, const StudyReport& report) {
  std::vector<PlotPanel> panels;
  if (experiment.costs) {
    for (const StudyTable& table : report.tables) panels.push_back(by_length(report, table));
  } else {
    for (std::size_t c = 0; c < report.columns.size(); ++c) {
      panels.push_back(by_window(experiment, report, report.tables.front(), c));
      if (experiment.times) panels.push_back(by_window(experiment, report, report.tables.back(), c));
    }
  }
  return line_plot(report.title, panels);
}

void require_plot(const Experiment& experiment) {
  if (!experiment.costs && windows_of(experiment).empty())
    throw Error(ErrorKind::usage, "--plot", "has nothing to draw: no row has a window", "add windows, or remove it");
}

}  // namespace relucent::index_tools
