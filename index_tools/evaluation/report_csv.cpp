// All figures as one table for programs.

#include <optional>

#include "index_tools/evaluation/report.h"
#include "index_tools/evaluation/report_cells.h"

namespace relucent::index_tools {
namespace {

Cells test_cells(const Report& report, const Comparison& comparison, std::size_t measure) {
  const auto& tests = comparison.tests[measure];
  Cells row = {report.runs[comparison.a].file};
  if (!tests) {
    row.resize(12);
    return row;
  }
  row.insert(row.end(), {digits_of(tests->mean_difference), std::to_string(tests->n), digits_of(tests->mean_b),
                         digits_of(tests->mean_a)});
  for (const auto& [name, figure] : kTestFigures) {
    row.push_back(tests->result ? digits_of((*tests->result).*figure) : "");
  }
  return row;
}

}  // namespace

std::string format_csv(const Report& report) {
  Cells header = {"run", "tag", "measure", "query", "value"};
  const bool compared = !report.comparisons.empty();
  if (compared) {
    header.insert(header.end(), {"baseline", "difference", "n", "mean", "baseline_mean"});
    for (const auto& [name, figure] : kTestFigures) header.emplace_back(name);
  }
  std::string text = csv_line(header);
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const EvaluatedRun& run = report.runs[r];
    const auto add = [&](std::size_t m, const std::string& query, double value, const Cells& more) {
      Cells row = {run.file, run.tag, report.measures[m].name, query, digits_of(value)};
      row.insert(row.end(), more.begin(), more.end());
      row.resize(header.size());
      text += csv_line(row);
    };
    for (std::size_t m = 0; m < report.measures.size(); ++m) {
      if (report.per_query && !report.measures[m].is_query_count()) {
        for (const auto& [query, values] : run.evaluation.queries) {
          Cells more;
          const auto first = report.runs[0].evaluation.queries.find(query);
          if (compared && r > 0 && first != report.runs[0].evaluation.queries.end()) {
            more = {report.runs[0].file, digits_of(first->second[m] - values[m])};
          }
          add(m, query, values[m], more);
        }
      }
      add(m, "all", run.evaluation.all[m],
          compared && r > 0 ? test_cells(report, report.comparisons[r - 1], m) : Cells());
    }
  }
  return text;
}

}  // namespace relucent::index_tools
