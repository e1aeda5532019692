#include "index_tools/experiments/study_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "index_tools/evaluation/svg_text.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

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

constexpr double kPlotWidth = 800, kArea = 260;  // of the drawing; height of the lines' area
constexpr double kLeft = 84, kLegend = 220;      // margins
constexpr double kAbove = 52, kBelow = 54;
constexpr double kPlotFont = 12;
constexpr std::array kColours = {"#2a7fbf", "#c8681e", "#3a8f4a", "#a355b0",
                                 "#a07a10", "#cf4a5a", "#4f8a8b", "#8a6d5a"};

bool has_points(const PlotPanel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(), [](const auto& one) { return !one.points.empty(); });
}

class Axes {
 public:
  Axes(const PlotPanel& panel, double top) : panel_(panel), top_(top) {
    bool first = true;
    for (const PlotSeries& series : panel.series) {
      for (const auto& [x, y] : series.points) {
        const double u = scaled_x(x), v = scaled_y(y);
        left_ = first ? u : std::min(left_, u);
        right_ = first ? u : std::max(right_, u);
        low_ = first ? v : std::min(low_, v);
        high_ = first ? v : std::max(high_, v);
        first = false;
      }
    }
    if (!panel.x_names.empty()) {
      left_ = -0.3;
      right_ = static_cast<double>(panel.x_names.size()) - 0.7;
    }
    if (right_ - left_ < 1e-9) {
      left_ -= 0.5;
      right_ += 0.5;
    }
    if (high_ - low_ < 1e-9) {
      low_ -= 0.05;
      high_ += 0.05;
    }
    step_ = panel.log_y ? 1 : grid_step(high_ - low_);
    low_ = step_ * std::floor(low_ / step_ + 1e-9);
    high_ = step_ * std::ceil(high_ / step_ - 1e-9);
    decimals_ = panel.log_y ? 0 : std::max(0, static_cast<int>(-std::floor(std::log10(step_) + 1e-9)));
  }

  double x(double value) const {
    return kLeft + (kPlotWidth - kLeft - kLegend) * (scaled_x(value) - left_) / (right_ - left_);
  }
  double y(double value) const { return at(scaled_y(value)); }

  std::string draw() const {
    std::string result;
    for (int i = static_cast<int>(std::lround(low_ / step_)); i <= std::lround(high_ / step_); ++i) {
      const double value = i * step_;
      result += fmt::format(
          "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
          "stroke-opacity=\"{}\"/>\n",
          kLeft, kPlotWidth - kLegend, at(value), at(value), kSvgInk, i == std::lround(low_ / step_) ? "1" : "0.3");
      const std::string tick =
          panel_.log_y ? fmt::format("{:g}", std::pow(10, value)) : fmt::format("{:.{}f}", value, decimals_);
      result += svg_text(kLeft - 8, at(value) + 4, "end", tick);
    }
    for (const auto& [place, name] : x_ticks()) result += svg_text(place, bottom() + 18, "middle", escape_xml(name));
    const double middle = top_ + kAbove + kArea / 2;
    return result + svg_text((kLeft + kPlotWidth - kLegend) / 2, bottom() + 38, "middle", escape_xml(panel_.x_title)) +
           svg_text(20, middle, "middle", escape_xml(panel_.y_title),
                    fmt::format(" transform=\"rotate(-90 20 {:.1f})\"", middle)) +
           svg_text(kLeft, top_ + 28, "start", escape_xml(panel_.title), " font-size=\"16\" font-weight=\"bold\"");
  }

 private:
  double scaled_x(double value) const { return panel_.log_x ? std::log2(value) : value; }
  double scaled_y(double value) const { return panel_.log_y ? std::log10(value) : value; }
  double at(double scaled) const { return top_ + kAbove + kArea * (high_ - scaled) / (high_ - low_); }
  double bottom() const { return top_ + kAbove + kArea; }

  std::vector<std::pair<double, std::string>> x_ticks() const {
    std::vector<std::pair<double, std::string>> ticks;
    for (std::size_t i = 0; i < panel_.x_names.size(); ++i)
      ticks.emplace_back(x(static_cast<double>(i)), panel_.x_names[i]);
    if (!ticks.empty()) return ticks;
    std::vector<double> values;
    for (const PlotSeries& series : panel_.series) {
      for (const auto& point : series.points) values.push_back(point.first);
    }
    std::sort(values.begin(), values.end());
    for (const double value : values) {
      if (ticks.empty() || x(value) - ticks.back().first > 34) ticks.emplace_back(x(value), fmt::format("{:g}", value));
    }
    return ticks;
  }

  const PlotPanel& panel_;
  double top_, left_ = 0, right_ = 0, low_ = 0, high_ = 0, step_ = 1;
  int decimals_ = 0;
};

const char* colour_of(const PlotPanel& panel, const PlotSeries& series) {
  const std::string& name = series.like.empty() ? series.name : series.like;
  std::size_t place = 0;
  for (const PlotSeries& one : panel.series) {
    if (!one.like.empty()) continue;
    if (one.name == name) return kColours[place % kColours.size()];
    ++place;
  }
  return kSvgInk;
}

std::string draw(const PlotPanel& panel, double top) {
  const Axes axes(panel, top);
  std::string result = axes.draw();
  double legend = top + kAbove + 8;
  for (const PlotSeries& series : panel.series) {
    if (series.points.empty()) continue;
    const char* colour = colour_of(panel, series);
    std::string line;
    for (const auto& [x, y] : series.points) line += fmt::format("{:.1f},{:.1f} ", axes.x(x), axes.y(y));
    result += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", trim(line),
                          colour, series.like.empty() ? "" : " stroke-dasharray=\"5 4\" stroke-opacity=\"0.8\"");
    for (const auto& [x, y] : series.points) {
      result +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:g}</title></circle>\n",
                      axes.x(x), axes.y(y), colour, escape_xml(series.name), y);
    }
    if (!series.like.empty()) continue;
    const std::string name = svg_shortened(series.name, kPlotFont, kLegend - 34);
    result +=
        svg_text(kPlotWidth - kLegend + 22, legend, "start", escape_xml(name), fmt::format(" fill=\"{}\"", colour));
    legend += 17;
  }
  const bool has_dashed = std::any_of(panel.series.begin(), panel.series.end(),
                                      [](const PlotSeries& one) { return !one.like.empty() && !one.points.empty(); });
  if (has_dashed) result += svg_text(kPlotWidth - kLegend + 22, legend, "start", "dashed: " + escape_xml(panel.dashed));
  return result;
}

/// Panels below each other as SVG, readable on white and on black; a tooltip on each point shows its value. Panels
/// without points are left out. Throws Error `invalid_data` if none has any.
std::string line_plot(const std::string& title, const std::vector<PlotPanel>& panels) {
  std::string content;
  double height = 0;
  for (const PlotPanel& panel : panels) {
    if (!has_points(panel)) continue;
    content += draw(panel, height);
    const auto lines = std::count_if(panel.series.begin(), panel.series.end(),
                                     [](const PlotSeries& one) { return one.like.empty() && !one.points.empty(); });
    height += kAbove + kBelow + std::max(kArea, 17.0 * static_cast<double>(lines + 1));
  }
  if (content.empty()) throw Error(ErrorKind::invalid_data, title, "has nothing to plot", "leave out --plot");
  return svg_drawing(kPlotWidth, height, kPlotFont, title, content);
}

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
