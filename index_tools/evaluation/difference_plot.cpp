#include "index_tools/evaluation/difference_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "index_tools/evaluation/svg_text.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr double kWidth = 800, kBars = 252;              // width of the drawing; height of the bars' area
constexpr double kRight = 92, kTop = 84;                 // margins right of and above the bars
constexpr double kFont = 12, kTitleFont = 16;            // sizes in pixels
constexpr std::size_t kMaxNamed = 60;                    // maximum number of queries with ids below their bars
constexpr double kWidestName = 380, kWidestQuery = 120;  // of a run's name and a query's id; longer ones are shortened
// Blue and orange with a contrast of 4 to 1 or more against both white and black.
constexpr const char *kFirst = "#2a7fbf", *kOther = "#c8681e";

struct Bar {
  std::string query;
  double a = 0, b = 0;
  double difference() const { return a - b; }
};

constexpr double kBold = 1.13;  // how much wider bold text is, at most

// With a minus sign instead of a hyphen.
std::string number_text(double value, int decimals) {
  return fmt::format("{}{:.{}f}", value < 0 ? "−" : value > 0 ? "+" : "", std::abs(value), decimals);
}

class Panel {
 public:
  Panel(std::vector<Bar> bars, std::string measure, std::string first, std::string other, double top)
      : bars_(std::move(bars)),
        measure_(std::move(measure)),
        first_(std::move(first)),
        other_(std::move(other)),
        top_(top) {
    std::stable_sort(bars_.begin(), bars_.end(),
                     [](const Bar& x, const Bar& y) { return x.difference() > y.difference(); });
    low_ = std::min(0.0, bars_.back().difference());
    high_ = std::max(0.0, bars_.front().difference());
    if (high_ - low_ < 1e-9) {
      low_ = -0.1;
      high_ = 0.1;
    }
    step_ = grid_step(high_ - low_);
    low_ = step_ * std::floor(low_ / step_ + 1e-9);
    high_ = step_ * std::ceil(high_ / step_ - 1e-9);
    tick_decimals_ = std::max(1, static_cast<int>(-std::floor(std::log10(step_) + 1e-9)));
    const double tick_width = std::max(svg_text_width(tick(low_), kFont), svg_text_width(tick(high_), kFont));
    left_ = std::max(76.0, 36 + tick_width);  // 36: the axis's title
    lay_out_names();
  }

  double height() const { return kTop + kBars + below_; }
  std::string draw() const { return heading() + grid() + bars() + names() + mean(); }

 private:
  enum class Names { none, level, upright };  // the queries' ids below their bars

  double slot() const { return (kWidth - left_ - kRight) / static_cast<double>(bars_.size()); }
  double y(double value) const { return top_ + kTop + kBars * (high_ - value) / (high_ - low_); }
  std::string tick(double value) const { return number_text(value, tick_decimals_); }

  // Ids are horizontal if the longest fits below its bar, else vertical; the caption below moves down.
  void lay_out_names() {
    if (bars_.size() > kMaxNamed) return;
    name_font_ = slot() < 11 ? 9 : 10;
    double widest = 0;
    for (const Bar& bar : bars_)
      widest = std::max(widest, svg_text_width(svg_shortened(bar.query, name_font_, kWidestQuery), name_font_));
    names_ = widest + 6 <= slot() ? Names::level : Names::upright;
    below_ += names_ == Names::level ? 14 : widest + 2;
  }

  std::string heading() const {
    std::size_t up = 0, down = 0;
    for (const Bar& bar : bars_) {
      up += bar.difference() > 0 ? 1 : 0;
      down += bar.difference() < 0 ? 1 : 0;
    }
    const auto coloured = [](const char* colour, const std::string& content) {
      return fmt::format("<tspan fill=\"{}\" font-weight=\"bold\">{}</tspan>", colour, content);
    };
    return svg_text(left_, top_ + 24, "start", escape_xml(measure_) + " by query: A − B",
                    fmt::format(" font-size=\"{:.0f}\" font-weight=\"bold\"", kTitleFont)) +
           svg_text(left_, top_ + 45, "start",
                    coloured(kFirst, fmt::format("A = {} better: {}", escape_xml(first_), up))) +
           svg_text(left_, top_ + 62, "start",
                    fmt::format("{} · equal: {}",
                                coloured(kOther, fmt::format("B = {} better: {}", escape_xml(other_), down)),
                                bars_.size() - up - down));
  }

  std::string grid() const {
    std::string result;
    for (int i = static_cast<int>(std::lround(low_ / step_)); i <= std::lround(high_ / step_); ++i) {
      const double value = i * step_;
      result += fmt::format(
          "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-opacity=\"{}\"/>\n",
          left_, kWidth - kRight, y(value), y(value), kSvgInk, i == 0 ? "1" : "0.3");
      result += svg_text(left_ - 8, y(value) + 4, "end", tick(value));
    }
    const double middle = top_ + kTop + kBars / 2;
    return result + svg_text(20, middle, "middle", "difference in " + escape_xml(measure_),
                             fmt::format(" transform=\"rotate(-90 20 {:.1f})\"", middle));
  }

  std::string bars() const {
    std::string result;
    const double wide = slot() * (slot() > 3 ? 0.8 : 1);
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const Bar& bar = bars_[i];
      const double from = y(std::max(0.0, bar.difference())), to = y(std::min(0.0, bar.difference()));
      result += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\">",
                            left_ + slot() * static_cast<double>(i) + (slot() - wide) / 2, from, wide, to - from,
                            bar.difference() >= 0 ? kFirst : kOther);
      result += fmt::format("<title>{}: {} (A {:.4f}, B {:.4f})</title></rect>\n", escape_xml(bar.query),
                            number_text(bar.difference(), 4), bar.a, bar.b);
    }
    return result;
  }

  std::string names() const {
    const double bottom = top_ + kTop + kBars;
    const std::string caption =
        fmt::format("{} {}", bars_.size(), bars_.size() == 1 ? "query" : "queries, sorted by the difference");
    std::string result = svg_text((left_ + kWidth - kRight) / 2, bottom + below_ - 14, "middle", caption);
    if (names_ == Names::none) return result;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const double x = left_ + slot() * (static_cast<double>(i) + 0.5);
      const std::string id = escape_xml(svg_shortened(bars_[i].query, name_font_, kWidestQuery));
      const std::string size = fmt::format(" font-size=\"{:.0f}\"", name_font_);
      if (names_ == Names::level) {
        result += svg_text(x, bottom + 16, "middle", id, size);
      } else {
        result += svg_text(x + 3.5, bottom + 6, "end", id,
                           fmt::format("{} transform=\"rotate(-90 {:.1f} {:.1f})\"", size, x + 3.5, bottom + 6));
      }
    }
    return result;
  }

  std::string mean() const {
    double sum = 0;
    for (const Bar& bar : bars_) sum += bar.difference();
    const double value = sum / static_cast<double>(bars_.size());
    return fmt::format(
               "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"1.5\" "
               "stroke-dasharray=\"6 4\"/>\n",
               left_, kWidth - kRight, y(value), y(value), kSvgInk) +
           svg_text(kWidth - kRight + 8, y(value) - 4, "start", "mean") +
           svg_text(kWidth - kRight + 8, y(value) + 11, "start", number_text(value, 4));
  }

  std::vector<Bar> bars_;
  std::string measure_, first_, other_;
  double top_, low_ = 0, high_ = 0, step_ = 0;
  int tick_decimals_ = 1;
  double left_ = 0, below_ = 40;  // margins left of and below the bars
  Names names_ = Names::none;
  double name_font_ = 10;
};

}  // namespace

std::string difference_plot(const Report& report, std::size_t measure) {
  std::string panels;
  const std::string& name = report.measures[measure].name;
  double height = 0;
  for (std::size_t other = 1; other < report.runs.size(); ++other) {
    const PairedValues pairs = paired_values(report.runs[0].evaluation, report.runs[other].evaluation, measure);
    if (pairs.queries.empty()) {
      throw Error(ErrorKind::invalid_data, report.runs[other].file,
                  "has no judged query in common with " + report.runs[0].file, "compare runs of the same topics");
    }
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < pairs.queries.size(); ++i) bars.push_back({pairs.queries[i], pairs.a[i], pairs.b[i]});
    const auto run = [&report](std::size_t i) {
      return svg_shortened(run_name(report, i), kFont * kBold, kWidestName);
    };
    const Panel panel(std::move(bars), name, run(0), run(other), height);
    panels += panel.draw();
    height += panel.height();
  }
  return svg_drawing(kWidth, height, kFont, name + " by query", panels);
}

}  // namespace relucent::index_tools
