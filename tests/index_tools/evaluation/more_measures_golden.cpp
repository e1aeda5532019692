// bpref, Rprec, success, recall, ERR and RBP against trec_eval's, gdeval.pl's and cwl_eval's answers, under the names
// of trec_eval and of ir_measures (tests/index_tools/evaluation/golden_measures/make_expected.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "index_tools/evaluation/measures.h"
#include "tests/support/evaluation_support.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

const std::filesystem::path kMeasuresFolder = "tests/index_tools/evaluation/golden_measures";
constexpr double kMoreMeasuresTolerance = 1e-13;

json expected_cases() { return json::parse(std::ifstream(kMeasuresFolder / "expected.json")).at("cases"); }

TEST(MoreMeasuresGolden, EqualTrecEvalsGdevalsAndCwlEvals) {
  const json cases = expected_cases();
  ASSERT_EQ(cases.size(), 4U);
  for (const auto& [name, expected] : cases.items()) {
    const index_tools::Run run = read_run(kMeasuresFolder / (name + ".run"));
    const Qrels qrels = read_qrels(kMeasuresFolder / (name + ".qrels"));
    std::vector<Measure> measures;
    for (const auto& [measure, value] : expected.at("mean").items()) measures.push_back(parse_measure(measure));
    ASSERT_GT(measures.size(), 60U);
    for (const bool complete : {false, true}) {
      const Evaluation evaluation = evaluate(run, qrels, measures, {ScoreType::single_precision, complete});
      EXPECT_EQ(evaluation.averaged_over, expected.at(complete ? "num_q_complete" : "num_q").get<std::size_t>());
      const json& means = expected.at(complete ? "mean_complete" : "mean");
      EXPECT_EQ(evaluation.queries.size(), expected.at("queries").size()) << name;
      for (std::size_t m = 0; m < measures.size(); ++m) {
        const std::string& measure = measures[m].name;
        EXPECT_NEAR(evaluation.all[m], means.at(measure).get<double>(), kMoreMeasuresTolerance)
            << name << " " << measure << " complete " << complete;
        for (const auto& [query, values] : expected.at("queries").items()) {
          EXPECT_NEAR(evaluation.queries.at(query)[m], values.at(measure).get<double>(), kMoreMeasuresTolerance)
              << name << " query " << query << " " << measure;
        }
      }
    }
  }
}

TEST(MoreMeasuresGolden, GradesAboveTheScaleOfERRAreRefused) {
  const index_tools::Run run = read_run(kMeasuresFolder / "negative.run");
  const Qrels qrels = read_qrels(kMeasuresFolder / "negative.qrels");  // grades up to 4
  const std::string problem =
      testing::error_of(ErrorKind::invalid_data, [&] { evaluate(run, qrels, parse_measures("ERR(max_rel=3)@20")); });
  EXPECT_NE(problem.find("ERR(max_rel=4)@20"), std::string::npos) << problem;
  EXPECT_GT(evaluate(run, qrels, parse_measures("ERR@20")).all[0],
            evaluate(run, qrels, parse_measures("ERR(max_rel=6)@20")).all[0]);
}

}  // namespace
}  // namespace relucent::index_tools
