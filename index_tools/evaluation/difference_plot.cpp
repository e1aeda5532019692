#include "index_tools/evaluation/difference_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr double kWidth = 800, kPanel = 380;                        // of the drawing, of one comparison
constexpr double kLeft = 76, kRight = 92, kTop = 66, kBottom = 62;  // around the bars
constexpr std::size_t kMostNamed = 60;                              // queries whose ids fit below their bars
// Grey, blue and orange with a contrast of 4 to 1 or more against both white and black.
constexpr const char *kInk = "#767676", *kFirst = "#2a7fbf", *kOther = "#c8681e";

struct Bar {
  std::string query;
  double a = 0, b = 0;
  double difference() const { return a - b; }
};

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[1024];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

// At most so many characters of UTF-8: the beginning of an id, the end of a path.
std::string shortened(const std::string& text, std::size_t most, bool keep_end) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80) starts.push_back(i);
  }
  if (starts.size() <= most) return text;
  return keep_end ? "…" + text.substr(starts[starts.size() - most + 1])
                  : text.substr(0, starts[most - 1]) + "…";
}

// With a minus sign instead of a hyphen.
std::string number_text(const char* format, double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, format, std::abs(value));
  return (value < 0 ? "−" : value > 0 ? "+" : "") + std::string(digits);
}

// The distance of grid lines: 1, 2 or 5 times a power of ten, four to eight of them.
double grid_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 4)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= 8) return factor * power;
  }
  return 10 * power;
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
  }

  std::string draw() const { return heading() + grid() + bars() + names() + mean(); }

 private:
  double height() const { return kPanel - kTop - kBottom; }
  double slot() const { return (kWidth - kLeft - kRight) / static_cast<double>(bars_.size()); }
  double y(double value) const { return top_ + kTop + height() * (high_ - value) / (high_ - low_); }

  std::string text(double x, double place_y, const char* anchor, const std::string& content,
                   const std::string& more = "") const {
    return formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, place_y, anchor) + more + ">" +
           content + "</text>\n";
  }

  std::string heading() const {
    std::size_t up = 0, down = 0;
    for (const Bar& bar : bars_) {
      up += bar.difference() > 0 ? 1 : 0;
      down += bar.difference() < 0 ? 1 : 0;
    }
    const auto coloured = [](const char* colour, const std::string& content) {
      return std::string("<tspan fill=\"") + colour + "\" font-weight=\"bold\">" + content + "</tspan>";
    };
    return text(kLeft, top_ + 24, "start", escaped(measure_) + " by query: A − B",
                " font-size=\"16\" font-weight=\"bold\"") +
           text(kLeft, top_ + 46, "start",
                coloured(kFirst, "A = " + escaped(first_) + " better: " + std::to_string(up)) + " · " +
                    coloured(kOther, "B = " + escaped(other_) + " better: " + std::to_string(down)) +
                    " · equal: " + std::to_string(bars_.size() - up - down));
  }

  std::string grid() const {
    std::string result;
    const int decimals = std::max(1, static_cast<int>(-std::floor(std::log10(step_) + 1e-9)));
    for (int i = static_cast<int>(std::lround(low_ / step_)); i <= std::lround(high_ / step_); ++i) {
      const double value = i * step_;
      result += formatted(
          "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-opacity=\"%s\"/>\n",
          kLeft, kWidth - kRight, y(value), y(value), kInk, i == 0 ? "1" : "0.3");
      char format[16];
      std::snprintf(format, sizeof format, "%%.%df", decimals);
      result += text(kLeft - 8, y(value) + 4, "end", number_text(format, value));
    }
    const double middle = top_ + kTop + height() / 2;
    return result + text(20, middle, "middle", "difference in " + escaped(measure_),
                         formatted(" transform=\"rotate(-90 20 %.1f)\"", middle));
  }

  std::string bars() const {
    std::string result;
    const double wide = slot() * (slot() > 3 ? 0.8 : 1);
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const Bar& bar = bars_[i];
      const double from = y(std::max(0.0, bar.difference())), to = y(std::min(0.0, bar.difference()));
      result += formatted("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">",
                          kLeft + slot() * static_cast<double>(i) + (slot() - wide) / 2, from, wide,
                          to - from, bar.difference() >= 0 ? kFirst : kOther);
      result += "<title>" + escaped(bar.query) + ": " + number_text("%.4f", bar.difference()) +
                formatted(" (A %.4f, B %.4f)", bar.a, bar.b) + "</title></rect>\n";
    }
    return result;
  }

  std::string names() const {
    const double bottom = top_ + kPanel - kBottom;
    std::string label =
        std::to_string(bars_.size()) + (bars_.size() == 1 ? " query" : " queries, sorted by the difference");
    const bool named = bars_.size() <= kMostNamed;
    std::string result = text((kLeft + kWidth - kRight) / 2, bottom + (named ? 50 : 26), "middle", label);
    if (!named) return result;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const double x = kLeft + slot() * (static_cast<double>(i) + 0.5) + 3.5;
      // Longer ids would run into the label below.
      const std::string id = shortened(bars_[i].query, 7, false);
      result += text(x, bottom + 6, "end", escaped(id),
                     formatted(" font-size=\"%d\" transform=\"rotate(-90 %.1f %.1f)\"", slot() < 11 ? 9 : 10,
                               x, bottom + 6));
    }
    return result;
  }

  std::string mean() const {
    double sum = 0;
    for (const Bar& bar : bars_) sum += bar.difference();
    const double value = sum / static_cast<double>(bars_.size());
    return formatted(
               "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1.5\" "
               "stroke-dasharray=\"6 4\"/>\n",
               kLeft, kWidth - kRight, y(value), y(value), kInk) +
           text(kWidth - kRight + 8, y(value) - 4, "start", "mean") +
           text(kWidth - kRight + 8, y(value) + 11, "start", number_text("%.4f", value));
  }

  std::vector<Bar> bars_;
  std::string measure_, first_, other_;
  double top_, low_ = 0, high_ = 0, step_ = 0;
};

}  // namespace

std::string difference_plot(const Report& report, std::size_t measure) {
  std::string panels;
  const std::string& name = report.measures[measure].name;
  for (std::size_t other = 1; other < report.runs.size(); ++other) {
    const PairedValues pairs =
        paired_values(report.runs[0].evaluation, report.runs[other].evaluation, measure);
    if (pairs.queries.empty()) {
      throw Error(ErrorKind::invalid_data, report.runs[other].file,
                  "has no judged query in common with " + report.runs[0].file,
                  "compare runs of the same topics");
    }
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < pairs.queries.size(); ++i)
      bars.push_back({pairs.queries[i], pairs.a[i], pairs.b[i]});
    panels += Panel(std::move(bars), name, shortened(run_name(report, 0), 32, true),
                    shortened(run_name(report, other), 32, true), kPanel * static_cast<double>(other - 1))
                  .draw();
  }
  const double height = kPanel * static_cast<double>(report.runs.size() - 1);
  return formatted(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
             "%.0f\" role=\"img\" "
             "font-family=\"sans-serif\" font-size=\"12\" fill=\"%s\">\n",
             kWidth, height, kWidth, height, kInk) +
         "<title>" + escaped(name) + " by query</title>\n" + panels + "</svg>\n";
}

}  // namespace relucent::index_tools
