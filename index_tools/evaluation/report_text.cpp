// trec_eval's lines, and tables for a screen.
#include <fmt/core.h>

#include <functional>
#include <optional>
#include <set>

#include "base/utf8.h"
#include "index_tools/evaluation/report.h"
#include "index_tools/evaluation/report_cells.h"

namespace relucent::index_tools {
namespace {

// Every character printed here takes one column.
std::size_t columns_of(const std::string& text) { return count_code_points(text); }

std::string comparison_tables(const Report& report) {
  std::string text;
  for (const Comparison& comparison : report.comparisons) {
    text += fmt::format("\nA = {}\nB = {}\n", report.runs[comparison.a].file, report.runs[comparison.b].file);
    std::vector<Cells> rows = {
        {"measure", "A", "B", "A - B", "queries", "t", "p (t-test)", "p (TOST 0.02)", "at level 0.05"}};
    for (std::size_t i = 0; i < comparison.tests.size(); ++i) {
      if (!comparison.tests[i]) continue;
      const Measure& measure = report.measures[i];
      const PairedTests& tests = *comparison.tests[i];
      rows.push_back({measure.name, value_text(measure, tests.mean_a), value_text(measure, tests.mean_b),
                      fmt::format("{:+.4f}", tests.mean_difference), std::to_string(tests.n),
                      tests.result ? fmt::format("{:.3f}", tests.result->t) : "-",
                      tests.result ? p_text(tests.result->p_t) : "-", tests.result ? p_text(tests.result->p_tost) : "-",
                      std::string(verdict(tests))});
    }
    text += aligned(rows);
  }
  return text;
}

// † and ≈, padded with blanks to keep the figures aligned.
std::string marks(const Report& report, std::size_t run, std::size_t measure) {
  if (report.comparisons.empty()) return {};
  const auto& tests = run == 0 ? std::nullopt : report.comparisons[run - 1].tests[measure];
  std::string text;
  if (tests && differs(*tests)) text += "†";
  if (tests && equivalent(*tests)) text += "≈";
  return text + std::string(2 - columns_of(text), ' ');
}

}  // namespace

std::string value_text(const Measure& measure, double value) {
  return fmt::format("{:.{}f}", value, measure.is_count() ? 0 : 4);
}

std::string p_text(double p) { return p < 0.0001 ? fmt::format("{:.1e}", p) : fmt::format("{:.4f}", p); }

std::string run_name(const Report& report, std::size_t run) {
  std::set<std::string> tags;
  for (const EvaluatedRun& one : report.runs) {
    if (!one.tag.empty()) tags.insert(one.tag);
  }
  return tags.size() == report.runs.size() ? report.runs[run].tag : report.runs[run].file;
}

std::string format_lines(const Report& report) {
  std::string text;
  for (const EvaluatedRun& run : report.runs) {
    if (report.runs.size() > 1) text += fmt::format("runid\tall\t{}\n", run.tag);
    if (report.per_query) {
      for (const auto& [query, values] : run.evaluation.queries) {
        for (std::size_t i = 0; i < report.measures.size(); ++i) {
          const Measure& measure = report.measures[i];
          if (!measure.is_query_count())
            text += fmt::format("{}\t{}\t{}\n", measure.name, query, value_text(measure, values[i]));
        }
      }
    }
    for (std::size_t i = 0; i < report.measures.size(); ++i) {
      text +=
          fmt::format("{}\tall\t{}\n", report.measures[i].name, value_text(report.measures[i], run.evaluation.all[i]));
    }
  }
  return text + comparison_tables(report);
}

std::string format_table(const Report& report) {
  std::vector<Cells> rows = {{report.per_query ? "run, query" : "run"}};
  const std::string no_marks(report.comparisons.empty() ? 0 : 2, ' ');
  for (const Measure& measure : report.measures) rows[0].push_back(measure.name + no_marks);
  const auto add = [&](const std::string& name, const std::vector<double>& values,
                       const std::function<std::string(std::size_t)>& marks_of) {
    rows.push_back({name});
    for (std::size_t i = 0; i < values.size(); ++i)
      rows.back().push_back(value_text(report.measures[i], values[i]) + marks_of(i));
  };
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const EvaluatedRun& run = report.runs[r];
    if (report.per_query) {
      for (const auto& [query, values] : run.evaluation.queries) {
        add(fmt::format("{} {}", run.file, query), values, [&](std::size_t) -> std::string { return no_marks; });
      }
    }
    add(run.file, run.evaluation.all, [&](std::size_t measure) { return marks(report, r, measure); });
  }
  std::string text = aligned(rows);
  if (!report.comparisons.empty()) {
    text +=
        "† differs from the first run (paired t-test, p < 0.05); ≈ equivalent to it within 0.02 (TOST, p < "
        "0.05)\n";
  }
  return text + comparison_tables(report);
}

}  // namespace relucent::index_tools
