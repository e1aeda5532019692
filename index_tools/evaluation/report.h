#pragma once

#include <string>
#include <vector>

#include "index_tools/evaluation/comparison.h"

namespace relucent::index_tools {

/// What `relucent evaluate` found out.
struct Report {
  std::vector<Measure> measures;
  std::vector<EvaluatedRun> runs;
  std::vector<Comparison> comparisons;  ///< empty where none was asked for
  bool per_query = false;
};

/// trec_eval's lines, measure, "all" or the query, value, between tabs; with several runs each block under a
/// "runid" line. The comparisons as format_table()'s.
std::string format_lines(const Report& report);

/// A row a run, a column a measure; marks where a run differs from the first one. Below it each comparison's
/// figures.
std::string format_table(const Report& report);

/// One table with all digits, RFC 4180: run, tag, measure, query ("all" for the mean or sum), value; with
/// comparisons also, in the rows of every run but the first, baseline (the first run), difference (baseline's
/// value less this one's; in "all" rows over the queries that both have), and in "all" rows n, mean and
/// baseline_mean over these queries, t, p_t, t_low, p_low, t_high, p_high, p_tost. What is undefined is
/// empty.
std::string format_csv(const Report& report);

/// {"runs": [{run, tag, queries, all, per_query}], "comparisons": [{a, b, bounds, measures}]} with all
/// digits; undefined is null.
std::string format_json(const Report& report);

/// Tables for LaTeX with the package booktabs (and longtable with per_query): the best value of each measure
/// bold, marks as in format_table(), and each comparison's figures.
std::string format_latex(const Report& report);

/// How values and p-values are printed: four decimals, counts as whole numbers, small p-values as 1.2e-10.
std::string value_text(const Measure& measure, double value);
std::string p_text(double p);

/// A run's name for people: its tag where the runs' tags are there and differ, else its file.
std::string run_name(const Report& report, std::size_t run);

}  // namespace relucent::index_tools
