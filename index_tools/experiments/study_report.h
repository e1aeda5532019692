#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/evaluation/significance.h"
#include "index_tools/experiments/experiment.h"

namespace relucent::index_tools {

/// One figure of a study.
struct StudyCell {
  std::optional<double> value;
  std::optional<double> published;
  std::string published_mark;
  std::optional<double> floor;           ///< of a time: the operations at the device's peak
  std::optional<double> floor_bytes;     ///< of a time: the bytes at the bandwidth of its memory
  std::optional<PairedTests> tests;      ///< this row minus the column's reference
  std::optional<double> p_t, p_tost;     ///< of `tests`, corrected as the study asks
  std::optional<double> milliseconds;    ///< computing time per candidate
  std::optional<std::size_t> truncated;  ///< candidates that the model did not see to their end
  std::optional<double> relative;        ///< the value's difference from that of relative_to, as a part of it
};

/// One measure's figures.
struct StudyTable {
  std::string measure;
  int decimals = 4;
  bool lower_is_better = false;
  std::vector<std::vector<StudyCell>> cells;  ///< [row][column]
};

/// What `relucent experiment run` and `relucent bench study` print.
struct StudyReport {
  std::string title, source;
  std::vector<std::string> rows, columns;
  std::vector<StudyTable> tables;
  std::vector<std::string> references;  ///< per column: the row that the others are compared with; empty: none
  std::string relative_to;  ///< a row: of costs, which are not tested, the others' differences from it are in per cent
  double bound = kEquivalenceBound, level = 0.05;
  Correction correction = Correction::holm;
  Dagger dagger = Dagger::difference;
  std::vector<std::string> notes;  ///< what is missing, what was replaced

  bool compared() const;
  bool has_published() const;
};

/// A report with the experiment's rows, columns and references, without tables yet.
StudyReport begin_report(const Experiment& experiment);
/// Adds a table that has only the published figures.
StudyTable& add_table(StudyReport& report, const Experiment& experiment, const std::string& measure);

/// Sets each cell's `relative`.
void compare_costs(StudyReport& report);

/// Corrects the tests of each column and measure over its rows.
void correct_tests(StudyReport& report);

/// Whether a cell differs from, or is equivalent to, its reference at the study's level.
bool differs(const StudyReport& report, const StudyCell& cell) noexcept;
bool equivalent(const StudyReport& report, const StudyCell& cell) noexcept;

/// A table per measure: the value, marks, and the published figure in parentheses.
std::string format_study_table(const StudyReport& report);
/// A line per measure, row and column, all digits: measure, row, column, value, published, reference, n, difference,
/// t, p_t, p_tost and the two corrected, ms_per_candidate, truncated, floor, floor_bytes, published_mark, relative;
/// undefined values are empty.
/// Then a line per note: "note" as the measure, and its text as the row.
std::string format_study_csv(const StudyReport& report);
/// {title, source, bound, level, correction, rows, columns, measures: [{measure, cells: [...]}], notes}.
std::string format_study_json(const StudyReport& report);
/// A table per measure with booktabs; the best value of each column is bold.
std::string format_study_latex(const StudyReport& report);
/// A Markdown table per measure, as format_study_table(); the best value of each column is bold.
std::string format_study_markdown(const StudyReport& report);
/// One of them by its name: table, csv, json, latex, markdown.
std::string formatted_study(const StudyReport& report, std::string_view format);

}  // namespace relucent::index_tools
