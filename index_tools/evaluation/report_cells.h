#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

/// What the reports share: cells as text, and rows of cells as lines.
namespace relucent::index_tools {

using Cells = std::vector<std::string>;

/// Lines with the first column aligned left and all others right, two blanks between them.
std::string aligned(const std::vector<Cells>& rows);

/// A line of RFC 4180's CSV, with its end.
std::string csv_line(const Cells& cells);

/// The shortest digits that parse to the same float or double.
std::string digits_of(std::floating_point auto value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Text for LaTeX.
std::string latex_text(std::string_view text);
/// p_text() for LaTeX: 1.2e-10 with a power of ten.
std::string latex_p(double p);

}  // namespace relucent::index_tools
