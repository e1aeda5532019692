// All figures as one table for programs.
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/text.h"
#include "index_tools/evaluation/report.h"

namespace relucent::index_tools {
namespace {

using Row = std::vector<std::string>;

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string line_of(const Row& row) { return join(row, ",", quoted) + "\n"; }

// The shortest digits that parse to the same number.
std::string digits_of(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

Row test_cells(const Report& report, const Comparison& comparison, std::size_t measure) {
  const auto& tests = comparison.tests[measure];
  Row row = {report.runs[comparison.a].file};
  if (!tests) {
    row.resize(12);
    return row;
  }
  row.insert(row.end(), {digits_of(tests->mean_difference), fmt::to_string(tests->n), digits_of(tests->mean_b),
                         digits_of(tests->mean_a)});
  for (const auto member :
       {&PairedTests::Result::t, &PairedTests::Result::p_t, &PairedTests::Result::t_low, &PairedTests::Result::p_low,
        &PairedTests::Result::t_high, &PairedTests::Result::p_high, &PairedTests::Result::p_tost}) {
    row.push_back(tests->result ? digits_of((*tests->result).*member) : "");
  }
  return row;
}

}  // namespace

std::string format_csv(const Report& report) {
  Row header = {"run", "tag", "measure", "query", "value"};
  const bool compared = !report.comparisons.empty();
  if (compared) {
    const Row more = {"baseline", "difference", "n",     "mean",   "baseline_mean", "t",
                      "p_t",      "t_low",      "p_low", "t_high", "p_high",        "p_tost"};
    header.insert(header.end(), more.begin(), more.end());
  }
  std::string text = line_of(header);
  for (std::size_t r = 0; r < report.runs.size(); ++r) {
    const EvaluatedRun& run = report.runs[r];
    const auto add = [&](std::size_t m, const std::string& query, double value, const Row& more) {
      Row row = {run.file, run.tag, report.measures[m].name, query, digits_of(value)};
      row.insert(row.end(), more.begin(), more.end());
      row.resize(header.size());
      text += line_of(row);
    };
    for (std::size_t m = 0; m < report.measures.size(); ++m) {
      if (report.per_query && report.measures[m].kind != Measure::Kind::queries) {
        for (const auto& [query, values] : run.evaluation.queries) {
          Row more;
          const auto first = report.runs[0].evaluation.queries.find(query);
          if (compared && r > 0 && first != report.runs[0].evaluation.queries.end()) {
            more = {report.runs[0].file, digits_of(first->second[m] - values[m])};
          }
          add(m, query, values[m], more);
        }
      }
      add(m, "all", run.evaluation.all[m],
          compared && r > 0 ? test_cells(report, report.comparisons[r - 1], m) : Row());
    }
  }
  return text;
}

}  // namespace relucent::index_tools
