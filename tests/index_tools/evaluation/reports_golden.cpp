// What `relucent evaluate` prints in each of its formats, read back, against trec_eval's and SciPy's answers.
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "base/text.h"
#include "index_tools/evaluation/report.h"
#include "tests/support/measures_goldens.h"

namespace relucent::index_tools {
namespace {

using testing::bm25_run;
using testing::golden_files;
using testing::is_ours;
using testing::json;
using testing::measures_folder;
using testing::qrels_of;

/// (run, query or "all", measure) -> value.
using Values = std::map<std::array<std::string, 3>, double>;

double number_of(const std::string& text) {
  double value = 0;
  EXPECT_TRUE(parse_number(text, value)) << "\"" << text << "\"";
  return value;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(trim(text.substr(begin, end - begin)));
    if (end == std::string::npos) return parts;
    begin = end + separator.size();
  }
}

// A reader of RFC 4180 of the test's own.
std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '"' && quoted && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (text[i] == '\n' && !quoted) {
      rows.push_back({""});
    } else {
      rows.back().back() += text[i];
    }
  }
  return rows;
}

// A LaTeX table's rows as plain cells: no bold, marks or mathematics.
std::vector<std::vector<std::string>> latex_rows(const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(table, "\n")) {
    if (!line.ends_with("\\\\") || line.starts_with("\\multicolumn")) continue;
    rows.emplace_back();
    for (std::string cell : split(line.substr(0, line.size() - 2), " & ")) {
      cell = cell.substr(0, cell.find("$^{"));
      if (const std::size_t power = cell.find(" \\times 10^{"); power != std::string::npos) {
        cell = cell.substr(0, power) + "e" + cell.substr(power + 12, cell.find('}', power) - power - 12);
      }
      std::string plain;
      for (const char c : cell) {
        if (c != '\\' && c != '$' && c != '}') plain += c;
      }
      if (plain.starts_with("textbf{")) plain = plain.substr(7);
      rows.back().push_back(plain);
    }
  }
  return rows;
}

Values read_lines(const Report& report) {
  Values values;
  std::string run = report.runs[0].tag;
  for (const std::string& line : split(format_lines(report), "\n")) {
    if (line.empty()) break;  // comparisons follow
    const auto fields = split(line, "\t");
    if (fields[0] == "runid") {
      run = fields[2];
    } else {
      values[{run, fields[1], fields[0]}] = number_of(fields[2]);
    }
  }
  return values;
}

Values read_csv(const Report& report) {
  Values values;
  const auto rows = csv_rows(format_csv(report));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].size(), rows[0].size());
    values[{rows[i][1], rows[i][3], rows[i][2]}] = number_of(rows[i][4]);
  }
  return values;
}

Values read_json(const Report& report) {
  Values values;
  const json printed = json::parse(format_json(report));
  for (const json& run : printed.at("runs")) {
    for (const auto& [measure, value] : run.at("all").items()) values[{run.at("tag"), "all", measure}] = value;
    if (!run.contains("per_query")) continue;
    for (const auto& [query, own] : run.at("per_query").items()) {
      for (const auto& [measure, value] : own.items()) {
        if (measure != "num_q") values[{run.at("tag"), query, measure}] = value;
      }
    }
  }
  return values;
}

Values read_table(const Report& report) {
  Values values;
  const std::string table = format_table(report);
  std::size_t line_number = 0, run = 0;
  for (const std::string& line : split(table, "\n")) {
    if (line.starts_with("†") || line.empty()) break;
    if (line_number++ == 0) continue;
    std::vector<std::string> cells;
    for (const std::string_view cell : split_fields(line)) cells.emplace_back(cell);
    const std::size_t measures = report.measures.size();
    const bool mean = cells.size() == measures + 1;
    for (std::size_t m = 0; m < measures; ++m) {
      std::string cell = cells[cells.size() - measures + m];
      for (const char* mark : {"†", "≈"}) {
        if (const std::size_t place = cell.find(mark); place != std::string::npos)
          cell.erase(place, std::string_view(mark).size());
      }
      const std::string query = mean ? "all" : cells[1];
      if (mean || !report.measures[m].is_query_count())
        values[{report.runs[run].tag, query, report.measures[m].name}] = number_of(cell);
    }
    run += mean ? 1 : 0;
  }
  return values;
}

Values read_latex(const Report& report) {
  Values values;
  const std::string text = format_latex(report);
  const auto rows = latex_rows(text.substr(0, text.find("\\end{")));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::size_t words = rows[i].size() - report.measures.size();
    const std::string query = words == 2 ? rows[i][1] : "all";
    for (std::size_t m = 0; m < report.measures.size(); ++m) {
      if (query != "all" && report.measures[m].is_query_count()) continue;
      values[{rows[i][0], query, report.measures[m].name}] = number_of(rows[i][words + m]);
    }
  }
  return values;
}

void expect_values(const Values& expected, const Values& found, double tolerance, const std::string& where) {
  EXPECT_EQ(found.size(), expected.size()) << where;
  for (const auto& [key, value] : expected) {
    const auto place = found.find(key);
    ASSERT_TRUE(place != found.end()) << where << " " << key[0] << " " << key[1] << " " << key[2];
    EXPECT_NEAR(place->second, value, tolerance) << where << " " << key[0] << " " << key[1] << " " << key[2];
  }
}

constexpr double kAllDigits = 1e-12, kFourDecimals = 0.5e-4 + 1e-9;

void expect_every_format(const Values& expected, const Report& report, const std::string& where) {
  expect_values(expected, read_lines(report), kFourDecimals, where + " lines");
  expect_values(expected, read_table(report), kFourDecimals, where + " table");
  expect_values(expected, read_latex(report), kFourDecimals, where + " LaTeX");
  expect_values(expected, read_csv(report), kAllDigits, where + " CSV");
  expect_values(expected, read_json(report), kAllDigits, where + " JSON");
}

TEST(ReportsGolden, EveryFormHoldsTrecEvalsValues) {
  RELUCENT_NEEDS(measures_folder());
  std::size_t cases = 0;
  for (const json& content : golden_files("cases")) {
    for (const auto& [name, golden] : content.at("cases").items()) {
      Report report;
      report.per_query = true;
      for (const auto& [measure, value] : golden.at("mean").items()) {
        if (is_ours(measure)) report.measures.push_back(parse_measure(measure));
      }
      const index_tools::Run run = read_run(measures_folder() / (name + ".run"));
      const Qrels qrels = read_qrels(measures_folder() / (name + ".qrels"));
      report.runs.push_back({name, run.tag, evaluate(run, qrels, report.measures)});
      Values expected;
      for (const Measure& measure : report.measures) {
        expected[{run.tag, "all", measure.name}] = golden.at("mean").at(measure.name);
        if (measure.is_query_count()) continue;
        for (const auto& [query, values] : golden.at("queries").items()) {
          expected[{run.tag, query, measure.name}] = values.at(measure.name);
        }
      }
      expect_every_format(expected, report, name);
      ++cases;
    }
  }
  EXPECT_GT(cases, 0U);
}

// SciPy's figures of one comparison in the printed formats.
void expect_tests(const json& golden, const Report& report, std::size_t measure, const std::string& where) {
  const std::string& name = report.measures[measure].name;
  const json found = json::parse(format_json(report)).at("comparisons").at(0).at("measures").at(name);
  const auto header_and_row = [&] {
    const auto rows = csv_rows(format_csv(report));
    std::map<std::string, std::string> row;
    for (const auto& cells : rows) {
      if (cells[1] != report.runs[1].tag || cells[2] != name || cells[3] != "all") continue;
      for (std::size_t i = 0; i < cells.size(); ++i) row[rows[0][i]] = cells[i];
    }
    return row;
  };
  const std::map<std::string, std::string> csv = header_and_row();
  const std::map<std::string, std::string> csv_names = {{"n", "n"},           {"mean_a", "baseline_mean"},
                                                        {"mean_b", "mean"},   {"mean_diff", "difference"},
                                                        {"t", "t"},           {"p_t", "p_t"},
                                                        {"t_low", "t_low"},   {"p_low", "p_low"},
                                                        {"t_high", "t_high"}, {"p_high", "p_high"},
                                                        {"p_tost", "p_tost"}};
  for (const auto& [key, column] : csv_names) {
    const double right = golden.at(key).get<double>(), tolerance = 1e-9 * std::abs(right) + 1e-15;
    EXPECT_NEAR(found.at(key).get<double>(), right, tolerance) << where << " JSON " << key;
    EXPECT_NEAR(number_of(csv.at(column)), right, tolerance) << where << " CSV " << key;
  }

  const auto near_as_printed = [&](const std::string& cell, const char* key, double decimals, const char* format) {
    const double right = golden.at(key).get<double>();
    // Small p-values have two digits.
    EXPECT_NEAR(number_of(cell), right, right < 1e-4 && std::string(key).starts_with("p") ? 0.05 * right : decimals)
        << where << " " << format << " " << key;
  };
  const std::string text = format_latex(report);
  bool in_latex = false;
  for (const auto& row : latex_rows(text.substr(text.find("\\end{tabular}")))) {
    if (row[2] != name) continue;
    in_latex = true;
    near_as_printed(row[3], "mean_a", kFourDecimals, "LaTeX");
    near_as_printed(row[4], "mean_b", kFourDecimals, "LaTeX");
    near_as_printed(row[5], "mean_diff", kFourDecimals, "LaTeX");
    near_as_printed(row[6], "n", 0, "LaTeX");
    near_as_printed(row[7], "t", 0.5e-3 + 1e-9, "LaTeX");
    near_as_printed(row[8], "p_t", kFourDecimals, "LaTeX");
    near_as_printed(row[9], "p_tost", kFourDecimals, "LaTeX");
  }
  EXPECT_TRUE(in_latex) << where;
  bool in_table = false;
  const std::string table = format_table(report);
  for (const std::string& line : split(table.substr(table.find("\nA = ")), "\n")) {
    const auto cells = split_fields(line);
    if (cells.size() < 9 || cells[0] != name) continue;
    in_table = true;
    const char* const keys[] = {"mean_a", "mean_b", "mean_diff", "n", "t", "p_t", "p_tost"};
    for (std::size_t i = 0; i < std::size(keys); ++i) {
      near_as_printed(std::string(cells[i + 1]), keys[i], std::string(keys[i]) == "t" ? 0.5e-3 + 1e-9 : kFourDecimals,
                      "table");
    }
    const bool differs = golden.at("p_t").get<double>() < 0.05, equivalent = golden.at("p_tost").get<double>() < 0.05;
    EXPECT_EQ(line.find("different") != std::string::npos, differs) << where << line;
    EXPECT_EQ(line.find("equivalent") != std::string::npos, equivalent) << where << line;
    EXPECT_EQ(text.find("\\dagger}$") != std::string::npos || text.find("\\dagger\\approx}$") != std::string::npos,
              differs)
        << where;
    EXPECT_EQ(text.find("\\approx}$") != std::string::npos, equivalent) << where;
  }
  EXPECT_TRUE(in_table) << where;
}

TEST(ReportsGolden, ComparisonsHoldSciPysFigures) {
  RELUCENT_NEEDS(measures_folder());
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  std::size_t comparisons = 0;
  for (const json& content : golden_files("runs")) {
    for (const auto& [name, golden] : content.at("runs").items()) {
      const auto words = split_fields(name);  // "cranfield nDCG@10 k0.9-b0.4 against k1.2-b0.75"
      ASSERT_EQ(words.size(), 5U) << name;
      const std::string collection(words[0]);
      if (!testing::has_bm25_run(collection, std::string(words[2]))) continue;
      if (!testing::has_bm25_run(collection, std::string(words[4]))) continue;
      Report report;
      report.measures = {parse_measure(words[1])};
      const Qrels qrels = read_qrels(qrels_of(collection));
      for (const std::string_view parameters : {words[2], words[4]}) {
        const auto file = testing::golden_path("bm25/" + collection + "." + std::string(parameters) + ".tsv.gz");
        report.runs.push_back(
            {file.string(), std::string(parameters), evaluate(bm25_run(file, true), qrels, report.measures)});
      }
      report.comparisons = compare_with_first(report.runs, report.measures);
      expect_tests(golden, report, 0, name);
      ++comparisons;
    }
  }
  EXPECT_GT(comparisons, 0U);
}

}  // namespace
}  // namespace relucent::index_tools
