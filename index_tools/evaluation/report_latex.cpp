// Tables for a paper.
#include <fmt/core.h>

#include <algorithm>

#include "index_tools/evaluation/report.h"
#include "index_tools/evaluation/report_cells.h"

namespace relucent::index_tools {
namespace {

std::string latex_marks(const Report& report, std::size_t run, std::size_t measure) {
  if (run == 0 || report.comparisons.empty()) return {};
  const auto& tests = report.comparisons[run - 1].tests[measure];
  std::string text;
  if (tests && differs(*tests)) text += "\\dagger";
  if (tests && equivalent(*tests)) text += "\\approx";
  return text.empty() ? text : fmt::format("$^{{{}}}$", text);
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
    const std::string name = latex_text(run_name(report, r));
    if (report.per_query) {
      for (const auto& [query, values] : evaluation.queries) {
        text += fmt::format("{} & {}", name, latex_text(query));
        for (std::size_t m = 0; m < values.size(); ++m) text += " & " + value_text(report.measures[m], values[m]);
        text += " \\\\\n";
      }
      text += fmt::format("\\midrule\n{} & all", name);
    } else {
      text += name;
    }
    for (std::size_t m = 0; m < report.measures.size(); ++m) {
      const std::string value = value_text(report.measures[m], evaluation.all[m]);
      const bool bold = report.runs.size() > 1 && !report.measures[m].is_count() && value == best(report, m);
      text += fmt::format(" & {}{}", bold ? fmt::format("\\textbf{{{}}}", value) : value, latex_marks(report, r, m));
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
      text += fmt::format("{} & {} & {} & {} & {} & ${:+.4f}$ & {}", latex_text(run_name(report, comparison.a)),
                          latex_text(run_name(report, comparison.b)), latex_text(measure.name),
                          value_text(measure, tests.mean_a), value_text(measure, tests.mean_b), tests.mean_difference,
                          tests.n);
      if (tests.result) {
        text += fmt::format(" & ${:.3f}$ & {} & {}", tests.result->t, latex_p(tests.result->p_t),
                            latex_p(tests.result->p_tost));
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
  std::string text = fmt::format("% \\usepackage{{booktabs{}}}\n\\begin{{{}}}{{{}{}}}\n\\toprule\n{}",
                                 report.per_query ? ",longtable" : "", environment, std::string(words, 'l'),
                                 std::string(report.measures.size(), 'r'), report.per_query ? "Run & Query" : "Run");
  for (const Measure& measure : report.measures) text += " & " + latex_text(measure.name);
  text += fmt::format(" \\\\\n\\midrule\n{}\\bottomrule\n", value_rows(report));
  if (!report.comparisons.empty()) {
    const std::string span = fmt::format("\\multicolumn{{{}}}{{l}}{{\\footnotesize ", words + report.measures.size());
    text += fmt::format("{}$\\dagger$ differs from {} (paired t-test, $p < 0.05$)}} \\\\\n", span,
                        latex_text(run_name(report, 0)));
    text += span + "$\\approx$ equivalent to it within $\\pm 0.02$ (TOST, $p < 0.05$)} \\\\\n";
  }
  text += fmt::format("\\end{{{}}}\n", environment);
  return report.comparisons.empty() ? text : text + comparison_table(report);
}

}  // namespace relucent::index_tools
