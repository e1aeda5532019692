// Studies' tests of significance against SciPy's and statsmodels' answers: golden_tests/make_expected.py.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "index_tools/experiments/study_report.h"

namespace relucent::index_tools {
namespace {

using Json = nlohmann::json;

// Equal to the digits that a tail probability from another implementation has.
void expect_close(double ours, const Json& expected, const std::string& what) {
  const double theirs = expected.get<double>();
  EXPECT_NEAR(ours, theirs, 1e-9 * std::abs(theirs) + 1e-14) << what;
}

TEST(SignificanceGolden, TTestTostAndHolmEqualSciPysAndStatsmodels) {
  std::ifstream in("tests/index_tools/experiments/golden_tests/expected.json");
  ASSERT_TRUE(in) << "run the tests in the root of the sources";
  const Json golden = Json::parse(in);
  std::size_t rows = 0;
  for (std::size_t c = 0; c < golden.at("cases").size(); ++c) {
    const Json& expected = golden.at("cases")[c];
    const auto reference = expected.at("reference").get<std::vector<double>>();
    const auto bound = expected.at("bound").get<double>();
    StudyReport report;
    report.columns = {"task"};
    report.references = {"reference"};
    report.tables.push_back({"nDCG@10", 4, false, {}});
    for (const Json& row : expected.at("rows")) {
      report.rows.push_back("row");
      StudyCell cell;
      cell.tests = paired_tests(row.at("values").get<std::vector<double>>(), reference, bound);
      report.tables[0].cells.push_back({cell});
    }
    // The reference itself has no test and does not belong to the family.
    report.rows.push_back("reference");
    report.tables[0].cells.push_back({StudyCell{}});
    correct_tests(report);
    for (std::size_t r = 0; r < expected.at("rows").size(); ++r) {
      const Json& row = expected.at("rows")[r];
      const StudyCell& cell = report.tables[0].cells[r][0];
      const std::string where = "case " + std::to_string(c) + " row " + std::to_string(r);
      ASSERT_TRUE(cell.tests && cell.tests->result && cell.p_t && cell.p_tost) << where;
      expect_close(cell.tests->result->t, row.at("t"), where + " t");
      expect_close(cell.tests->result->p_t, row.at("p_t"), where + " p_t");
      expect_close(cell.tests->result->p_tost, row.at("p_tost"), where + " p_tost");
      expect_close(*cell.p_t, row.at("p_t_holm"), where + " p_t_holm");
      expect_close(*cell.p_tost, row.at("p_tost_holm"), where + " p_tost_holm");
      ++rows;
    }
    EXPECT_FALSE(report.tables[0].cells.back()[0].p_t);
  }
  EXPECT_GT(rows, 150U);
}

}  // namespace
}  // namespace relucent::index_tools
