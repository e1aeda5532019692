// Tables for a paper.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "index_tools/evaluation/report.h"

namespace relucent::index_tools {
namespace {

std::string escaped(std::string_view text) {
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

std::string in_math(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return "$" + std::string(text) + "$";
}

std::string p_latex(double p) {
  const std::string text = p_text(p);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  return "$" + text.substr(0, exponent) + " \\times 10^{" + std::to_string(std::stoi(text.substr(exponent + 1))) + "}$";
}

std::string latex_marks(const Report& report, std::size_t run, std::size_t measure) {
  if (run == 0 || report.comparisons.empty()) return {};
  const auto& tests = report.comparisons[run - 1].tests[measure];
  std::string text;
  if (tests && differs(*tests)) text += "\\dagger";
  if (tests && equivalent(*tests)) text += "\\approx";
  return text.empty() ? text : "$^{" + text + "}$";
}

// The highest value of the runs, as printed: several can tie.
std::string best(const Report& report, std::size_t measure) {
  double highest = 0;
  for (const EvaluatedRun& run : report.runs) highest = std::max(highest, run.evaluation.all[measure]);
  return value_text(report.measures[measure], highest);
}

std::string value_rows(const Report& report) {
  std::string text;
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const Evaluation& evaluation = report.runs[r].evaluation;
    const std::string name = escaped(run_name(report, r));
    if (report.per_query) {
      for (const auto& [query, values] : evaluation.queries) {
        text += name + " & " + escaped(query);
        for (std::size_t m = 0; m < values.size(); ++m) text += " & " + value_text(report.measures[m], values[m]);
        text += " \\\\\n";
      }
      text += "\\midrule\n" + name + " & all";
    } else {
      text += name;
    }
    for (std::size_t m = 0; m < report.measures.size(); ++m) {
      const std::string value = value_text(report.measures[m], evaluation.all[m]);
      const bool bold = report.runs.size() > 1 && !report.measures[m].is_count() && value == best(report, m);
      text += " & " + (bold ? "\\textbf{" + value + "}" : value) + latex_marks(report, r, m);
    }
    text += " \\\\\n";
    if (report.per_query && r + 1 < report.runs.size()) text += "\\midrule\n";
  }
  return text;
}

std::string comparison_table(const Report& report) {
  std::string text =
      "\n\\bigskip\n\n\\begin{tabular}{lllrrrrrrr}\n\\toprule\n"
      "A & B & Measure & A & B & A $-$ B & $n$ & $t$ & $p$ (t-test) & $p$ (TOST) \\\\\n\\midrule\n";
  for (const Comparison& comparison : report.comparisons) {
    for (std::size_t m = 0; m < comparison.tests.size(); ++m) {
      if (!comparison.tests[m]) continue;
      const PairedTests& tests = *comparison.tests[m];
      const Measure& measure = report.measures[m];
      text += escaped(run_name(report, comparison.a)) + " & " + escaped(run_name(report, comparison.b)) + " & " +
              escaped(measure.name) + " & " + value_text(measure, tests.mean_a) + " & " +
              value_text(measure, tests.mean_b) + " & " + in_math("%+.4f", tests.mean_difference) + " & " +
              std::to_string(tests.n);
      if (tests.result) {
        text += " & " + in_math("%.3f", tests.result->t) + " & " + p_latex(tests.result->p_t) + " & " +
                p_latex(tests.result->p_tost);
      } else {
        text += " & -- & -- & --";
      }
      text += " \\\\\n";
    }
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::string format_latex(const Report& report) {
  const std::string environment = report.per_query ? "longtable" : "tabular";
  const std::size_t words = report.per_query ? 2 : 1;
  std::string text = std::string("% \\usepackage{booktabs") + (report.per_query ? ",longtable" : "") + "}\n\\begin{" +
                     environment + "}{" + std::string(words, 'l') + std::string(report.measures.size(), 'r') +
                     "}\n\\toprule\n" + (report.per_query ? "Run & Query" : "Run");
  for (const Measure& measure : report.measures) text += " & " + escaped(measure.name);
  text += " \\\\\n\\midrule\n" + value_rows(report) + "\\bottomrule\n";
  if (!report.comparisons.empty()) {
    const std::string span = "\\multicolumn{" + std::to_string(words + report.measures.size()) + "}{l}{\\footnotesize ";
    text += span + "$\\dagger$ differs from " + escaped(run_name(report, 0)) + " (paired t-test, $p < 0.05$)} \\\\\n";
    text += span + "$\\approx$ equivalent to it within $\\pm 0.02$ (TOST, $p < 0.05$)} \\\\\n";
  }
  text += "\\end{" + environment + "}\n";
  return report.comparisons.empty() ? text : text + comparison_table(report);
}

}  // namespace relucent::index_tools
