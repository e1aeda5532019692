#include "index_tools/experiments/study_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "index_tools/evaluation/report_cells.h"

namespace relucent::index_tools {
namespace {

constexpr std::array kCsvColumns = {
    "measure",    "row",   "column",      "value",          "published",     "reference",        "n",
    "difference", "t",     "p_t",         "p_tost",         "p_t_corrected", "p_tost_corrected", "ms_per_candidate",
    "truncated",  "floor", "floor_bytes", "published_mark", "relative"};

template <typename Use>
void for_each_cell(const StudyReport& report, Use&& use) {
  for (const StudyTable& table : report.tables) {
    for (std::size_t r = 0; r < report.rows.size(); ++r) {
      for (std::size_t c = 0; c < report.columns.size(); ++c) use(table, r, c, table.cells[r][c]);
    }
  }
}

bool is_empty(const StudyCell& cell) { return !cell.value && !cell.published; }

std::string number_text(const StudyTable& table, double value) { return fmt::format("{:.{}f}", value, table.decimals); }

// Published figures have fewer digits than ours.
std::string published_text(const StudyCell& cell) {
  return cell.published ? fmt::format(" ({}{})", digits_of(*cell.published), cell.published_mark) : "";
}

std::string marks(const StudyReport& report, const StudyCell& cell) {
  if (report.dagger == Dagger::equivalence) return equivalent(report, cell) ? "†" : "";
  return std::string(differs(report, cell) ? "†" : "") + (equivalent(report, cell) ? "≈" : "");
}

std::string relative_text(const StudyCell& cell) {
  return cell.relative ? fmt::format(" {:+.0f}%", 100 * *cell.relative) : "";
}

std::string padded(std::string text, std::size_t columns) {
  const std::size_t used = count_code_points(text);
  if (used < columns) text.append(columns - used, ' ');
  return text;
}

// One cell per row, with marks and published figures below each other.
Cells column_cells(const StudyReport& report, const StudyTable& table, std::size_t c) {
  std::vector<std::string> values, marked, others;
  std::size_t mark_columns = 0, other_columns = 0;
  for (std::size_t r = 0; r < report.rows.size(); ++r) {
    const StudyCell& cell = table.cells[r][c];
    values.push_back(cell.value ? number_text(table, *cell.value) : "–");
    marked.push_back(marks(report, cell) + relative_text(cell));
    others.push_back(published_text(cell));
    mark_columns = std::max(mark_columns, count_code_points(marked.back()));
    other_columns = std::max(other_columns, count_code_points(others.back()));
  }
  Cells cells;
  for (std::size_t r = 0; r < values.size(); ++r)
    cells.push_back(values[r] + padded(marked[r], mark_columns) + padded(others[r], other_columns));
  return cells;
}

std::string correction_text(const StudyReport& report) {
  switch (report.correction) {
    case Correction::none: return "";
    case Correction::holm: return ", corrected by Holm";
    case Correction::bonferroni: return ", corrected by Bonferroni";
  }
  return "";
}

/// What the marks mean, as lines without ends. `name`: the reference.
Cells explained_marks(const StudyReport& report, const std::string& name) {
  const std::string level = fmt::format("p < {}{}", report.level, correction_text(report));
  const std::string equivalent = fmt::format("equivalent to {} within {} (TOST, {})", name, report.bound, level);
  if (report.dagger == Dagger::equivalence) return {"† " + equivalent};
  return {fmt::format("† differs from {} (paired t-test, {})", name, level), "≈ " + equivalent};
}

// The rows that others are compared with, each once.
std::vector<std::string> references_of(const StudyReport& report) {
  std::vector<std::string> names;
  for (const std::string& name : report.references) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

template <typename Value>
std::string or_empty(const std::optional<Value>& value) {
  return value ? digits_of(static_cast<double>(*value)) : "";
}

/// Below a table: what the marks mean, the references, what parentheses contain, and the notes.
Cells footnotes(const StudyReport& report) {
  Cells lines;
  if (report.compared()) lines.push_back(join(explained_marks(report, "the reference"), "; "));
  for (const std::string& name : references_of(report)) {
    Cells of;
    for (std::size_t c = 0; c < report.columns.size(); ++c) {
      if (report.references[c] == name) of.push_back(report.columns[c]);
    }
    lines.push_back("reference: " + name + (of.size() < report.columns.size() ? " (" + join(of) + ")" : ""));
  }
  if (!report.relative_to.empty()) lines.push_back("per cent: the difference from " + report.relative_to);
  if (report.has_published()) lines.emplace_back("in parentheses: the published figure");
  for (const std::string& note : report.notes) lines.push_back("note: " + note);
  return lines;
}

/// Marks as LaTeX's commands, each between `open` and `close`.
std::string latex_marks(std::string text, const std::string& open = "", const std::string& close = "") {
  constexpr std::pair<std::string_view, const char*> commands[] = {{"†", "\\dagger"}, {"≈", "\\approx"}};
  for (const auto& [mark, command] : commands) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
      const std::string replacement = open + command + close;
      text.replace(at, mark.size(), replacement);
      at += replacement.size();
    }
  }
  return text;
}

/// Line breaks would end the comment.
std::string latex_comment(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return "% " + text + "\n";
}

std::optional<double> best_of(const StudyReport& report, const StudyTable& table, std::size_t column) {
  std::optional<double> best;
  for (std::size_t r = 0; r < report.rows.size(); ++r) {
    const std::optional<double>& value = table.cells[r][column].value;
    if (value && (!best || (table.lower_is_better ? *value < *best : *value > *best))) best = value;
  }
  return best;
}

}  // namespace

bool StudyReport::compared() const {
  return std::any_of(references.begin(), references.end(), [](const std::string& name) { return !name.empty(); });
}

bool StudyReport::has_published() const {
  bool found = false;
  for_each_cell(*this, [&found](const StudyTable&, std::size_t, std::size_t, const StudyCell& cell) {
    found = found || cell.published.has_value();
  });
  return found;
}

StudyReport begin_report(const Experiment& experiment) {
  StudyReport report;
  report.title = experiment.title;
  report.source = experiment.source;
  report.columns = experiment.columns();
  report.bound = experiment.bound;
  report.level = experiment.level;
  report.correction = experiment.correction;
  report.dagger = experiment.dagger;
  for (const ExperimentRow& row : experiment.rows) report.rows.push_back(row.name);
  for (const std::string& column : report.columns) report.references.push_back(experiment.reference_of(column));
  return report;
}

StudyTable& add_table(StudyReport& report, const Experiment& experiment, const std::string& measure) {
  StudyTable& table = report.tables.emplace_back();
  table.measure = measure;
  table.cells.assign(report.rows.size(), std::vector<StudyCell>(report.columns.size()));
  const auto published = experiment.published.find(measure);
  for (std::size_t c = 0; published != experiment.published.end() && c < report.columns.size(); ++c) {
    const auto column = published->second.find(report.columns[c]);
    for (std::size_t r = 0; column != published->second.end() && r < report.rows.size(); ++r) {
      const auto value = column->second.find(report.rows[r]);
      if (value == column->second.end()) continue;
      table.cells[r][c].published = value->second.value;
      table.cells[r][c].published_mark = value->second.mark;
    }
  }
  return table;
}

void compare_costs(StudyReport& report) {
  const auto of = std::ranges::find(report.rows, report.relative_to);
  if (of == report.rows.end()) return;
  const auto reference = static_cast<std::size_t>(of - report.rows.begin());
  for (StudyTable& table : report.tables) {
    for (std::size_t c = 0; c < report.columns.size(); ++c) {
      const std::optional<double> usual = table.cells[reference][c].value;
      for (std::size_t r = 0; usual && *usual > 0 && r < report.rows.size(); ++r) {
        StudyCell& cell = table.cells[r][c];
        if (cell.value && r != reference) cell.relative = *cell.value / *usual - 1;
      }
    }
  }
}

void correct_tests(StudyReport& report) {
  for (StudyTable& table : report.tables) {
    for (std::size_t c = 0; c < report.columns.size(); ++c) {
      std::vector<StudyCell*> tested;
      std::vector<double> p_t, p_tost;
      for (auto& row : table.cells) {
        StudyCell& cell = row[c];
        cell.p_t = cell.p_tost = std::nullopt;
        if (!cell.tests || !cell.tests->result) continue;
        tested.push_back(&cell);
        p_t.push_back(cell.tests->result->p_t);
        p_tost.push_back(cell.tests->result->p_tost);
      }
      p_t = corrected(p_t, report.correction);
      p_tost = corrected(p_tost, report.correction);
      for (std::size_t i = 0; i < tested.size(); ++i) {
        tested[i]->p_t = p_t[i];
        tested[i]->p_tost = p_tost[i];
      }
    }
  }
}

bool differs(const StudyReport& report, const StudyCell& cell) noexcept { return cell.p_t && *cell.p_t < report.level; }

bool equivalent(const StudyReport& report, const StudyCell& cell) noexcept {
  return cell.p_tost && *cell.p_tost < report.level;
}

std::string format_study_table(const StudyReport& report) {
  std::string text = report.title + (report.source.empty() ? "" : " (" + report.source + ")") + "\n";
  for (const StudyTable& table : report.tables) {
    std::vector<Cells> rows(report.rows.size() + 1);
    rows[0].push_back(table.measure);
    for (std::size_t r = 0; r < report.rows.size(); ++r) rows[r + 1].push_back(report.rows[r]);
    for (std::size_t c = 0; c < report.columns.size(); ++c) {
      rows[0].push_back(report.columns[c]);
      const Cells cells = column_cells(report, table, c);
      for (std::size_t r = 0; r < cells.size(); ++r) rows[r + 1].push_back(cells[r]);
    }
    text += "\n" + aligned(rows);
  }
  if (report.compared()) text += "\n";
  for (const std::string& line : footnotes(report)) text += line + "\n";
  return text;
}

std::string format_study_markdown(const StudyReport& report) {
  // A line per row of a table; bars would end a cell.
  const auto line = [](const Cells& cells) {
    std::string text;
    for (std::string cell : cells) {
      for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
      text += "| " + cell + " ";
    }
    return text + "|\n";
  };
  std::string text = "**" + report.title + "**" + (report.source.empty() ? "" : " (" + report.source + ")") + "\n";
  for (const StudyTable& table : report.tables) {
    Cells heading = {table.measure}, rule = {"---"};
    heading.insert(heading.end(), report.columns.begin(), report.columns.end());
    rule.resize(heading.size(), "---");
    text += "\n" + line(heading) + line(rule);
    for (std::size_t r = 0; r < report.rows.size(); ++r) {
      Cells cells = {report.rows[r]};
      for (std::size_t c = 0; c < report.columns.size(); ++c) {
        const StudyCell& cell = table.cells[r][c];
        const std::optional<double> best = best_of(report, table, c);
        std::string value = cell.value ? number_text(table, *cell.value) : "–";
        if (cell.value && value == number_text(table, *best)) value = "**" + value + "**";
        cells.push_back(value + marks(report, cell) + relative_text(cell) + published_text(cell));
      }
      text += line(cells);
    }
  }
  const Cells notes = footnotes(report);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += "- " + note + "\n";
  return text;
}

std::string format_study_csv(const StudyReport& report) {
  std::string text = csv_line({kCsvColumns.begin(), kCsvColumns.end()});
  for_each_cell(report, [&](const StudyTable& table, std::size_t r, std::size_t c, const StudyCell& cell) {
    if (is_empty(cell)) return;
    Cells cells = {table.measure,        report.rows[r],           report.columns[c],
                   or_empty(cell.value), or_empty(cell.published), cell.tests ? report.references[c] : ""};
    if (cell.tests) {
      cells.push_back(std::to_string(cell.tests->n));
      cells.push_back(digits_of(cell.tests->mean_difference));
    } else {
      cells.resize(cells.size() + 2);
    }
    const auto& result = cell.tests ? cell.tests->result : std::nullopt;
    for (const auto member : {&PairedTests::Result::t, &PairedTests::Result::p_t, &PairedTests::Result::p_tost})
      cells.push_back(result ? digits_of((*result).*member) : "");
    cells.insert(cells.end(), {or_empty(cell.p_t), or_empty(cell.p_tost), or_empty(cell.milliseconds),
                               cell.truncated ? std::to_string(*cell.truncated) : "", or_empty(cell.floor),
                               or_empty(cell.floor_bytes), cell.published_mark, or_empty(cell.relative)});
    text += csv_line(cells);
  });
  for (const std::string& note : report.notes) {
    Cells cells = {"note", note};
    cells.resize(kCsvColumns.size());
    text += csv_line(cells);
  }
  return text;
}

std::string format_study_json(const StudyReport& report) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json json = {{"title", report.title},
               {"source", report.source},
               {"bound", report.bound},
               {"level", report.level},
               {"correction", to_string(report.correction)},
               {"rows", report.rows},
               {"columns", report.columns},
               {"measures", Json::array()}};
  for (const StudyTable& table : report.tables)
    json["measures"].push_back({{"measure", table.measure}, {"cells", Json::array()}});
  for_each_cell(report, [&](const StudyTable& table, std::size_t r, std::size_t c, const StudyCell& cell) {
    if (is_empty(cell)) return;
    Json entry = {{"row", report.rows[r]},
                  {"column", report.columns[c]},
                  {"value", or_null(cell.value)},
                  {"published", or_null(cell.published)}};
    if (!cell.published_mark.empty()) entry["published_mark"] = cell.published_mark;
    if (cell.tests) {
      const auto& result = cell.tests->result;
      const auto figure = [&result](double PairedTests::Result::*member) {
        return result ? Json((*result).*member) : Json(nullptr);
      };
      entry["reference"] = report.references[c];
      entry["n"] = cell.tests->n;
      entry["difference"] = cell.tests->mean_difference;
      entry["t"] = figure(&PairedTests::Result::t);
      entry["p_t"] = figure(&PairedTests::Result::p_t);
      entry["p_tost"] = figure(&PairedTests::Result::p_tost);
      entry["p_t_corrected"] = or_null(cell.p_t);
      entry["p_tost_corrected"] = or_null(cell.p_tost);
      entry["differs"] = differs(report, cell);
      entry["equivalent"] = equivalent(report, cell);
    }
    if (cell.milliseconds) entry["ms_per_candidate"] = *cell.milliseconds;
    if (cell.floor) entry["floor"] = *cell.floor;
    if (cell.floor_bytes) entry["floor_bytes"] = *cell.floor_bytes;
    if (cell.truncated) entry["truncated"] = *cell.truncated;
    if (cell.relative) entry["relative"] = *cell.relative;
    json["measures"][static_cast<std::size_t>(&table - report.tables.data())]["cells"].push_back(std::move(entry));
  });
  json["notes"] = report.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string format_study_latex(const StudyReport& report) {
  std::string text = "% \\usepackage{booktabs}\n";
  for (const StudyTable& table : report.tables) {
    text += latex_comment(report.title + ": " + table.measure);
    text += fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n{}", std::string(report.columns.size(), 'l'),
                        latex_text(table.measure));
    for (const std::string& column : report.columns) text += " & " + latex_text(column);
    text += " \\\\\n\\midrule\n";
    std::vector<std::optional<double>> best;
    for (std::size_t c = 0; c < report.columns.size(); ++c) best.push_back(best_of(report, table, c));
    for (std::size_t r = 0; r < report.rows.size(); ++r) {
      text += latex_text(report.rows[r]);
      for (std::size_t c = 0; c < report.columns.size(); ++c) {
        const StudyCell& cell = table.cells[r][c];
        std::string value = cell.value ? number_text(table, *cell.value) : "--";
        if (cell.value && value == number_text(table, *best[c])) value = fmt::format("\\textbf{{{}}}", value);
        const std::string mark = latex_marks(marks(report, cell));
        text += " & " + value + (mark.empty() ? "" : fmt::format("$^{{{}}}$", mark));
        text += latex_text(relative_text(cell));
        text += latex_marks(latex_text(published_text(cell)), "$", "$");
      }
      text += " \\\\\n";
    }
    text += "\\bottomrule\n";
    const std::string span = fmt::format("\\multicolumn{{{}}}{{l}}{{\\footnotesize ", report.columns.size() + 1);
    const std::vector<std::string> references = references_of(report);
    if (!references.empty()) {
      for (const std::string& mark : explained_marks(report, join(references, " / "))) {
        text += fmt::format("{}{}}} \\\\\n", span, latex_marks(latex_text(mark), "$", "$"));
      }
    }
    if (!report.relative_to.empty()) {
      text += span + "per cent: the difference from " + latex_text(report.relative_to) + "} \\\\\n";
    }
    if (report.has_published()) text += span + "in parentheses: the published figure} \\\\\n";
    text += "\\end{tabular}\n\n";
  }
  for (const std::string& note : report.notes) text += latex_comment("note: " + note);
  return text;
}

std::string formatted_study(const StudyReport& report, std::string_view format) {
  if (format == "csv") return format_study_csv(report);
  if (format == "json") return format_study_json(report);
  if (format == "latex") return format_study_latex(report);
  if (format == "markdown") return format_study_markdown(report);
  return format_study_table(report);
}

}  // namespace relucent::index_tools
