#include "index_tools/evaluation/report_cells.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "index_tools/evaluation/report.h"

namespace relucent::index_tools {
namespace {

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

// Every character printed here takes one column.
std::string aligned(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], count_code_points(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - count_code_points(row[i]), ' ');
      line += i == 0 ? row[i] + gap : fmt::format("  {}{}", gap, row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string csv_line(const Cells& cells) { return join(cells, ",", quoted) + "\n"; }

std::string latex_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\': result += "\\textbackslash{}"; break;
      case '~': result += "\\textasciitilde{}"; break;
      case '^': result += "\\textasciicircum{}"; break;
      case '<': result += "$<$"; break;
      case '>': result += "$>$"; break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}': result += '\\'; [[fallthrough]];
      default: result += c;
    }
  }
  return result;
}

std::string latex_p(double p) {
  std::string text = p_text(p);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  return fmt::format("${} \\times 10^{{{}}}$", text.substr(0, exponent), std::stoi(text.substr(exponent + 1)));
}

}  // namespace relucent::index_tools
