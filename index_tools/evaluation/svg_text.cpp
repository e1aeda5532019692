#include "index_tools/evaluation/svg_text.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "base/utf8.h"

namespace relucent::index_tools {

double svg_text_width(std::string_view text, double font_size) {
  double ems = 0;
  for (const char c : text) {
    if (is_utf8_continuation(c)) continue;
    if (static_cast<unsigned char>(c) >= 0x80 || std::string_view("mwMW%@").find(c) != std::string_view::npos) {
      ems += 1;
    } else {
      ems += c >= 'A' && c <= 'Z' ? 0.79 : 0.65;
    }
  }
  return ems * font_size;
}

std::string svg_shortened(const std::string& text, double font_size, double width) {
  if (svg_text_width(text, font_size) <= width) return text;
  for (std::size_t from = 1; from < text.size(); ++from) {
    if (is_utf8_continuation(text[from])) continue;
    const std::string rest = "…" + text.substr(from);
    if (svg_text_width(rest, font_size) <= width) return rest;
  }
  return "…";
}

std::string svg_text(double x, double y, const char* anchor, const std::string& content, const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more, content);
}

std::string svg_drawing(double width, double height, double font_size, const std::string& title,
                        const std::string& content) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "role=\"img\" font-family=\"sans-serif\" font-size=\"{2:.0f}\" fill=\"{3}\">\n"
      "<title>{4}</title>\n{5}</svg>\n",
      width, std::ceil(height), font_size, kSvgInk, escape_xml(title), content);
}

double grid_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 4)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= 8) return factor * power;
  }
  return 10 * power;
}

}  // namespace relucent::index_tools
