#pragma once

#include <string>
#include <vector>

#include "index_tools/evaluation/comparison.h"

namespace relucent::index_tools {

/// Results of `relucent evaluate`.
struct Report {
  std::vector<Measure> measures;
  std::vector<EvaluatedRun> runs;
  std::vector<Comparison> comparisons;  ///< empty if not requested
  bool per_query = false;
};

/// trec_eval's lines: measure, "all" or the query, and value, separated by tabs; with several runs, each block follows
/// a "runid" line. Comparisons look as in format_table().
std::string format_lines(const Report& report);

/// One row per run, one column per measure, with marks where a run differs from the first one. The figures of each
/// comparison follow.
std::string format_table(const Report& report);

/// One table with all digits, RFC 4180: run, tag, measure, query ("all" for the mean or sum), value; with
/// comparisons also, in the rows of every run but the first, baseline (the first run), difference (baseline's
/// value minus this run's; in "all" rows over the queries that both have), and in "all" rows n, mean and
/// baseline_mean over these queries, t, p_t, t_low, p_low, t_high, p_high, p_tost. Undefined values are
/// empty.
std::string format_csv(const Report& report);

/// {"runs": [{run, tag, queries, all, per_query}], "comparisons": [{a, b, bounds, measures}]} with all
/// digits; undefined values are null.
std::string format_json(const Report& report);

/// Tables for LaTeX with the package booktabs (and longtable with per_query): the best value of each measure
/// bold, marks as in format_table(), and each comparison's figures.
std::string format_latex(const Report& report);

/// Formats values and p-values: four decimals, counts as whole numbers, small p-values as 1.2e-10.
std::string value_text(const Measure& measure, double value);
std::string p_text(double p);

/// A run's display name: its tag if all runs have distinct tags, else its file.
std::string run_name(const Report& report, std::size_t run);

}  // namespace relucent::index_tools
