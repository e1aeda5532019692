#pragma once

#include <string>
#include <string_view>

/// What the plots share.
namespace relucent::index_tools {

/// Grey with a contrast of 4 to 1 or more against both white and black: text and axes.
inline constexpr const char* kSvgInk = "#767676";

/// Upper bound of a text's width in pixels for any sans-serif font: the widths of the widest common fonts (Verdana,
/// DejaVu Sans).
double svg_text_width(std::string_view text, double font_size);
/// As much of the text's end as fits, because ids and paths differ there.
std::string svg_shortened(const std::string& text, double font_size, double width);

/// A text element; `content` is escaped already, `more` further attributes with a blank in front.
std::string svg_text(double x, double y, const char* anchor, const std::string& content, const std::string& more = "");
/// A whole drawing with a title for those who cannot see it.
std::string svg_drawing(double width, double height, double font_size, const std::string& title,
                        const std::string& content);

/// The distance of grid lines: 1, 2 or 5 times a power of ten, for four to eight lines.
double grid_step(double range);

}  // namespace relucent::index_tools
