// A study's tables in every form, its plots, and other programs' figures next to ours.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "index_tools/benchmarks/peer_figures.h"
#include "index_tools/experiments/experiment.h"
#include "index_tools/experiments/study_plot.h"
#include "index_tools/experiments/study_report.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::index_tools {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

// Differences of about `shift` over ten queries.
PairedTests tests_of(double shift) {
  std::vector<double> a, b;
  for (int i = 0; i < 10; ++i) {
    b.push_back(0.1 * i);
    a.push_back(b.back() + shift + 0.001 * (i % 3));
  }
  return paired_tests(a, b);
}

StudyReport report() {
  StudyReport report;
  report.title = "A & B";
  report.source = "a paper";
  report.rows = {"full", "sparse w=4", "sparse w=0"};
  report.columns = {"one", "two"};
  report.references = {"full", ""};
  report.tables = {{"nDCG@10", 4, false, std::vector<std::vector<StudyCell>>(3, std::vector<StudyCell>(2))}};
  auto& cells = report.tables[0].cells;
  cells[0][0].value = 0.5;
  cells[1][0].value = 0.501;
  cells[1][0].tests = tests_of(0.001);
  cells[1][0].published = 0.647;
  cells[1][0].published_mark = "†";
  cells[1][0].milliseconds = 3.5;
  cells[1][0].truncated = 7;
  cells[2][0].value = 0.4;
  cells[2][0].tests = tests_of(-0.1);
  cells[2][1].published = 0.3;
  report.notes = {"a thing is missing"};
  correct_tests(report);
  return report;
}

TEST(StudyReport, TheTableMarksWhatDiffersAndWhatIsEquivalent) {
  const std::string text = format_study_table(report());
  EXPECT_NE(text.find("A & B (a paper)"), std::string::npos) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("full +0\\.5000 +–"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("sparse w=4 +0\\.5010†≈ \\(0\\.647†\\) +–"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("sparse w=0 +0\\.4000† +– \\(0\\.3\\)"))) << text;
  EXPECT_NE(text.find("p < 0.05, corrected by Holm"), std::string::npos) << text;
  EXPECT_NE(text.find("reference: full (one)"), std::string::npos) << text;
  EXPECT_NE(text.find("note: a thing is missing"), std::string::npos) << text;
}

TEST(StudyReport, CsvAndJsonHaveAllDigits) {
  const StudyReport r = report();
  const std::string csv = format_study_csv(r);
  EXPECT_NE(csv.find("\nnDCG@10,sparse w=4,one,0.501,0.647,full,10,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nnDCG@10,full,one,0.5,,,,,,,,,,,,,,,\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nnote,a thing is missing,,"), std::string::npos) << csv;
  const std::size_t commas = 18;
  for (std::size_t begin = 0; begin < csv.size();) {
    const std::size_t end = csv.find('\n', begin);
    EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  csv.begin() + static_cast<std::ptrdiff_t>(end), ',')),
              commas);
    begin = end + 1;
  }
  const auto json = nlohmann::json::parse(format_study_json(r));
  const auto& cells = json.at("measures").at(0).at("cells");
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[1].at("p_t_corrected").get<double>(), *r.tables[0].cells[1][0].p_t);
  EXPECT_EQ(cells[1].at("equivalent"), true);
  EXPECT_EQ(cells[1].at("published_mark"), "†");
  EXPECT_FALSE(cells[2].contains("published_mark"));
  EXPECT_EQ(cells[2].at("equivalent"), false);
  EXPECT_EQ(cells[1].at("truncated"), 7);
  EXPECT_TRUE(cells[3].at("value").is_null());
}

TEST(StudyReport, CostsAreComparedInPerCent) {
  StudyReport r = report();
  r.references = {"", ""};
  r.relative_to = "full";
  for (auto& row : r.tables[0].cells) {
    for (StudyCell& cell : row) cell.tests = std::nullopt;
  }
  correct_tests(r);
  r.tables[0].cells[1][0].value = 0.605;
  r.tables[0].cells[2][1].value = 0.3;  // without a value to compare it with
  compare_costs(r);
  EXPECT_FALSE(r.tables[0].cells[0][0].relative);
  EXPECT_FALSE(r.tables[0].cells[2][1].relative);
  const std::string text = format_study_table(r);
  EXPECT_TRUE(std::regex_search(text, std::regex("sparse w=4 +0\\.6050 \\+21% \\(0\\.647†\\)"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("sparse w=0 +0\\.4000 -20%"))) << text;
  EXPECT_NE(text.find("per cent: the difference from full\n"), std::string::npos) << text;
  EXPECT_NE(format_study_markdown(r).find("| **0.6050** +21% (0.647†) |"), std::string::npos);
  EXPECT_NE(format_study_latex(r).find("\\textbf{0.6050} +21\\%"), std::string::npos) << format_study_latex(r);
  EXPECT_NE(format_study_csv(r).find(",†,0.2099"), std::string::npos) << format_study_csv(r);
  const auto json = nlohmann::json::parse(format_study_json(r));
  EXPECT_NEAR(json["measures"][0]["cells"][1]["relative"].get<double>(), 0.21, 1e-12);
}

TEST(StudyReport, LatexBoldsTheBestAndEscapes) {
  const std::string latex = format_study_latex(report());
  EXPECT_NE(latex.find("sparse w=4 & \\textbf{0.5010}$^{\\dagger\\approx}$ (0.647$\\dagger$) & -- \\\\"),
            std::string::npos)
      << latex;
  EXPECT_NE(latex.find("% A & B: nDCG@10\n"), std::string::npos) << latex;
}

TEST(StudyReport, NoLineBreakEndsACommentOfLatex) {
  StudyReport r = report();
  r.title = "one\ntwo";
  r.notes = {"three\r\nfour"};
  const std::string latex = format_study_latex(r);
  EXPECT_NE(latex.find("% one two: nDCG@10\n"), std::string::npos) << latex;
  EXPECT_NE(latex.find("% note: three  four\n"), std::string::npos) << latex;
}

TEST(StudyReport, MarkdownBoldsTheBestAndEscapes) {
  StudyReport r = report();
  r.rows[2] = "sparse | w=0";
  const std::string text = format_study_markdown(r);
  EXPECT_NE(text.find("**A & B** (a paper)\n\n| nDCG@10 | one | two |\n| --- | --- | --- |\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("| sparse w=4 | **0.5010**†≈ (0.647†) | – |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| sparse \\| w=0 | 0.4000† | – (0.3) |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n- note: a thing is missing\n"), std::string::npos) << text;
  EXPECT_EQ(formatted_study(r, "markdown"), text);
  r.tables[0].lower_is_better = true;
  EXPECT_NE(format_study_markdown(r).find("| **0.4000**†"), std::string::npos);
}

// As the ECIR 2024 paper marks its tables.
TEST(StudyReport, ADaggerMayMeanEquivalence) {
  StudyReport r = report();
  r.dagger = Dagger::equivalence;
  r.correction = Correction::bonferroni;
  correct_tests(r);
  const std::string text = format_study_table(r), latex = format_study_latex(r);
  EXPECT_TRUE(std::regex_search(text, std::regex("0\\.5010† \\(0\\.647†\\)"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("0\\.4000 "))) << text;
  EXPECT_NE(text.find("\n† equivalent to the reference within 0.02 (TOST, p < 0.05, corrected by Bonferroni)\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("≈"), std::string::npos);
  EXPECT_NE(latex.find("$\\dagger$ equivalent to full within 0.02"), std::string::npos) << latex;
  const StudyCell& cell = r.tables[0].cells[1][0];
  EXPECT_EQ(*cell.p_tost, std::min(1.0, 2 * cell.tests->result->p_tost));  // of two rows
  EXPECT_EQ(nlohmann::json::parse(format_study_json(r)).at("correction"), "bonferroni");
}

TEST(StudyReport, WithoutCorrectionTheTestsStandAsTheyAre) {
  StudyReport r = report();
  const double corrected = *r.tables[0].cells[1][0].p_t;
  r.correction = Correction::none;
  correct_tests(r);
  EXPECT_EQ(*r.tables[0].cells[1][0].p_t, r.tables[0].cells[1][0].tests->result->p_t);
  EXPECT_LE(*r.tables[0].cells[1][0].p_t, corrected);
}

Experiment windows() {
  return parse_experiment(R"(title = "plots <&>"
[[tasks]]
name = "one"
candidates = "c"
qrels = "q"
[[rows]]
name = "full"
patterns = ["full"]
[[rows]]
name = "sparse w={window}"
patterns = ["sparse"]
windows = ["inf", 4, 16]
)",
                          "x", "/");
}

TEST(StudyPlot, RowsThatDifferInTheWindowAreOneLine) {
  StudyReport r;
  r.title = "plots <&>";
  r.rows = {"full", "sparse w=inf", "sparse w=4", "sparse w=16"};
  r.columns = {"one"};
  r.references = {""};
  r.tables = {{"nDCG@10", 4, false, std::vector<std::vector<StudyCell>>(4, std::vector<StudyCell>(1))}};
  for (std::size_t row = 0; row < 4; ++row) r.tables[0].cells[row][0].value = 0.4 + 0.01 * static_cast<double>(row);
  const std::string svg = study_plot(windows(), r);
  const std::regex line("<polyline points=\"([^\"]*)\"");
  std::vector<std::string> lines;
  for (std::sregex_iterator found(svg.begin(), svg.end(), line), end; found != end; ++found)
    lines.push_back((*found)[1]);
  ASSERT_EQ(lines.size(), 2U) << svg;
  EXPECT_EQ(std::count(lines[1].begin(), lines[1].end(), ','), 3);
  EXPECT_NE(svg.find(">sparse</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("plots &lt;&amp;&gt;"), std::string::npos) << svg;
  // 4, 16, inf from left to right, and the highest value (16) highest on the drawing.
  std::smatch points;
  ASSERT_TRUE(
      std::regex_match(lines[1], points, std::regex("([0-9.]+),([0-9.]+) ([0-9.]+),([0-9.]+) ([0-9.]+),([0-9.]+)")));
  EXPECT_LT(std::stod(points[1]), std::stod(points[3]));
  EXPECT_LT(std::stod(points[4]), std::stod(points[2]));
  EXPECT_LT(std::stod(points[2]), std::stod(points[6]));
  r.tables[0].cells.assign(4, std::vector<StudyCell>(1));
  expect_error(ErrorKind::invalid_data, {"nothing to plot"}, [&] { study_plot(windows(), r); });
}

TEST(StudyPlot, TimeHasAPanelOfItsOwnInTheSameColours) {
  Experiment e = windows();
  e.times = true;
  StudyReport r;
  r.title = "times";
  r.rows = {"full", "sparse w=inf", "sparse w=4", "sparse w=16"};
  r.columns = {"one"};
  r.references = {""};
  const std::vector<std::vector<StudyCell>> empty(4, std::vector<StudyCell>(1));
  r.tables = {{"nDCG@10", 4, false, empty}, {"ms", 3, true, empty}};
  for (std::size_t row = 0; row < 4; ++row) {
    r.tables[0].cells[row][0].value = 0.5;
    // The first row has no time, as the first stage has none.
    if (row > 0) r.tables[1].cells[row][0].value = static_cast<double>(row);
  }
  const std::string svg = study_plot(e, r);
  const std::regex line("<polyline points=\"([^\"]*)\" fill=\"none\" stroke=\"([^\"]*)\"");
  std::vector<std::string> colours;
  for (std::sregex_iterator found(svg.begin(), svg.end(), line), end; found != end; ++found)
    colours.push_back((*found)[2]);
  ASSERT_EQ(colours.size(), 3U) << svg;
  EXPECT_NE(colours[0], colours[1]);
  EXPECT_EQ(colours[1], colours[2]);
  EXPECT_NE(svg.find(">ms per candidate</text>"), std::string::npos) << svg;
  e.times = false;
  EXPECT_EQ(study_plot(e, r).find("ms per candidate"), std::string::npos);
}

TEST(StudyPlot, WithoutWindowsThereIsNothingToPlot) {
  Experiment e = windows();
  require_plot(e);
  for (ExperimentRow& row : e.rows) row.rescorer.attention_window.reset();
  expect_error(ErrorKind::usage, {"--plot", "no row has a window"}, [&] { require_plot(e); });
  e.costs.emplace();
  require_plot(e);
}

TEST(StudyPlot, ALineIsNamedWithoutTheWindowWhereverItStands) {
  const Experiment e = parse_experiment(R"(title = "names"
[[tasks]]
name = "one"
candidates = "c"
qrels = "q"
[[rows]]
name = "w={window}, {length} tokens"
patterns = ["sparse"]
windows = [4]
lengths = [4096]
[[rows]]
name = "sparse 64, 464 tokens"
patterns = ["sparse"]
windows = [64]
[[rows]]
name = "16 heads"
windows = [1]
[[rows]]
name = "w={window}"
patterns = ["longformer"]
windows = [7, 8]
[[rows]]
name = "{window}"
windows = [9]
)",
                                        "x", "/");
  std::vector<std::string> names;
  for (const ExperimentRow& row : e.rows) names.push_back(row.series);
  EXPECT_EQ(names, (std::vector<std::string>{"4096 tokens", "sparse, 464 tokens", "16 heads", "longformer",
                                             "longformer", "model"}));
}

StudyReport costs() {
  StudyReport r;
  r.rows = {"ours"};
  r.columns = {"174", "4096"};
  r.references = {"", ""};
  for (const char* measure : {"ms", "MB"})
    r.tables.push_back({measure, 3, true, std::vector<std::vector<StudyCell>>(1, std::vector<StudyCell>(2))});
  return r;
}

TEST(StudyPeers, BothComparisonsTablesAreRead) {
  const TemporaryFolder folder;
  StudyReport r = costs();
  const auto add = [&](const char* name, const char* text) {
    benchmarks::add_peers(benchmarks::read_peers(folder.write(name, text)), r);
  };
  add("gpu.md",
      "100 candidates a query on a GPU; torch 2\n\n"
      "| tokens | contender | text to logits, ms | device, ms | KB a candidate |\n|---|---| --- | --- | --- |\n"
      "| 174 | transformers SDPA fp16 | 12.50 | 10.000 | 250.0 |\n"
      "| 4,096 | transformers SDPA fp16 | 1,250.00 | | 16,000.0 |\n"
      "| 512 | transformers SDPA fp16 | 30.00 | | 7.0 |\n"
      "| 174 | sentence-transformers bf16 | 13.00 | | |\n");
  ASSERT_EQ(r.notes.size(), 1U);
  EXPECT_NE(r.notes[0].find("512 tokens"), std::string::npos) << r.notes[0];
  add("cpu.md",
      "50 candidates x 174 tokens, 2 threads, a processor.\n\n"
      "| contender | median ms | min | max |\n|---|---|---|---|\n| OpenVINO bf16 | 1,000 | 9 | 11 |\n");
  ASSERT_EQ(r.rows, (std::vector<std::string>{"ours", "transformers SDPA fp16", "OpenVINO bf16"}));
  // The device's own time, as ours is; none where it is not known.
  EXPECT_EQ(r.tables[0].cells[1][0].value, 0.1);
  EXPECT_FALSE(r.tables[0].cells[1][1].value);
  EXPECT_EQ(r.tables[1].cells[1][0].value, 0.25);
  EXPECT_EQ(r.tables[1].cells[1][1].value, 16.0);
  EXPECT_EQ(r.tables[0].cells[2][0].value, 20.0);
  EXPECT_FALSE(r.tables[1].cells[2][0].value);
  expect_error(ErrorKind::invalid_data, {"no table of contenders"},
               [&] { benchmarks::read_peers(folder.write("empty.md", "nothing\n")); });
}

}  // namespace
}  // namespace relucent::index_tools
