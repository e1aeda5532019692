// Measures, orders and tests of significance against trec_eval's and SciPy's answers.
#include <cmath>

#include "index_tools/evaluation/significance.h"
#include "tests/support/measures_goldens.h"

namespace relucent::index_tools {
namespace {

using testing::bm25_run;
using testing::golden_files;
using testing::is_ours;
using testing::json;
using testing::measures_folder;
using testing::qrels_of;
using testing::fs::path;

constexpr double kTolerance = 1e-12;

void expect_equal(const json& expected, const Run& run, const Qrels& qrels, ScoreType scores,
                  const std::string& where) {
  for (const bool complete : {false, true}) {
    std::vector<Measure> measures;
    const json& means = expected.at(complete ? "mean_complete" : "mean");
    for (const auto& [name, value] : means.items()) {
      if (is_ours(name)) measures.push_back(parse_measure(name));
    }
    ASSERT_FALSE(measures.empty());
    const Evaluation evaluation = evaluate(run, qrels, measures, {scores, complete});
    EXPECT_EQ(evaluation.averaged_over, expected.at(complete ? "num_q_complete" : "num_q").get<std::size_t>()) << where;
    for (std::size_t m = 0; m < measures.size(); ++m) {
      const auto& name = measures[m].name;
      EXPECT_NEAR(evaluation.all[m], means.at(name).get<double>(), kTolerance)
          << where << " " << name << " complete " << complete;
    }
    EXPECT_EQ(evaluation.queries.size(), expected.at("queries").size()) << where;
    for (const auto& [query, values] : expected.at("queries").items()) {
      ASSERT_TRUE(evaluation.queries.contains(query)) << where << " " << query;
      for (std::size_t m = 0; m < measures.size(); ++m) {
        EXPECT_NEAR(evaluation.queries.at(query)[m], values.at(measures[m].name).get<double>(), kTolerance)
            << where << " query " << query << " " << measures[m].name;
      }
    }
  }
}

TEST(MeasuresGolden, CasesEqualTrecEvalsToTheLastDigits) {
  RELUCENT_NEEDS(measures_folder());
  std::size_t cases = 0;
  for (const json& content : golden_files("cases")) {
    for (const auto& [name, expected] : content.at("cases").items()) {
      const index_tools::Run run = read_run(measures_folder() / (name + ".run"));
      const Qrels qrels = read_qrels(measures_folder() / (name + ".qrels"));
      expect_equal(expected, run, qrels, ScoreType::single_precision, name);
      expect_equal(expected.contains("if_scores_are_double") ? expected.at("if_scores_are_double") : expected, run,
                   qrels, ScoreType::double_precision, name + " as double");
      ++cases;
    }
  }
  EXPECT_GT(cases, 0U);
}

TEST(MeasuresGolden, BM25RunsOfRealCollectionsEqualTrecEvals) {
  RELUCENT_NEEDS(measures_folder());
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  std::size_t runs = 0;
  for (const json& content : golden_files(nullptr)) {
    for (const auto& [name, expected] : content.items()) {
      const std::string collection = name.substr(0, name.find('.'));
      if (!testing::has_bm25_run(collection, name.substr(collection.size() + 1))) continue;
      const path file = testing::golden_path("bm25/" + name + ".tsv.gz");
      const Qrels qrels = read_qrels(qrels_of(collection));
      expect_equal(expected.at("as_scored"), bm25_run(file, false), qrels, ScoreType::single_precision,
                   name + " as scored");
      expect_equal(expected.at("as_ranked"), bm25_run(file, true), qrels, ScoreType::single_precision,
                   name + " as ranked");
      ++runs;
    }
  }
  EXPECT_GT(runs, 0U);
}

void expect_tests(const json& expected, const PairedTests& tests, const std::string& where) {
  const auto near = [&](const char* name, std::optional<double> value) {
    const json& golden = expected.at(name);
    EXPECT_EQ(golden.is_null(), !value.has_value()) << where << " " << name;
    if (golden.is_null() || !value) return;
    const double right = golden.get<double>();
    EXPECT_NEAR(*value, right, 1e-9 * std::abs(right) + 1e-15) << where << " " << name;
  };
  EXPECT_EQ(tests.n, expected.at("n").get<std::size_t>()) << where;
  near("mean_a", tests.mean_a);
  near("mean_b", tests.mean_b);
  near("mean_diff", tests.mean_difference);
  near("sd_diff", tests.standard_deviation);
  near("se", tests.standard_error);
  const auto of = [&](double PairedTests::Result::*member) {
    return tests.result ? std::optional((*tests.result).*member) : std::nullopt;
  };
  near("t", of(&PairedTests::Result::t));
  near("p_t", of(&PairedTests::Result::p_t));
  near("t_low", of(&PairedTests::Result::t_low));
  near("p_low", of(&PairedTests::Result::p_low));
  near("t_high", of(&PairedTests::Result::t_high));
  near("p_high", of(&PairedTests::Result::p_high));
  near("p_tost", of(&PairedTests::Result::p_tost));
  EXPECT_EQ(!tests.result.has_value(), expected.value("undefined", false)) << where;
}

TEST(MeasuresGolden, SignificanceOfMadeUpPairsEqualsSciPys) {
  RELUCENT_NEEDS(measures_folder());
  std::size_t pairs = 0;
  for (const json& content : golden_files("synthetic")) {
    EXPECT_EQ(content.at("bounds"), json({-kEquivalenceBound, kEquivalenceBound}));
    for (const auto& [name, expected] : content.at("synthetic").items()) {
      expect_tests(
          expected,
          paired_tests(expected.at("a").get<std::vector<double>>(), expected.at("b").get<std::vector<double>>()), name);
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 0U);
}

TEST(MeasuresGolden, SignificanceBetweenRealRunsEqualsSciPys) {
  RELUCENT_NEEDS(measures_folder());
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  std::size_t comparisons = 0;
  for (const json& content : golden_files("runs")) {
    for (const auto& [name, expected] : content.at("runs").items()) {
      // "cranfield nDCG@10 k0.9-b0.4 against k1.2-b0.75"
      const auto words = split_fields(name);
      ASSERT_EQ(words.size(), 5U) << name;
      const std::string collection(words[0]);
      if (!testing::has_bm25_run(collection, std::string(words[2]))) continue;
      if (!testing::has_bm25_run(collection, std::string(words[4]))) continue;
      const Qrels qrels = read_qrels(qrels_of(collection));
      const std::vector<Measure> measures = {parse_measure(words[1])};
      std::map<std::string, std::vector<double>> values[2];
      for (int side = 0; side < 2; ++side) {
        const path file =
            testing::golden_path("bm25/" + collection + "." + std::string(words[side == 0 ? 2 : 4]) + ".tsv.gz");
        values[side] = evaluate(bm25_run(file, true), qrels, measures).queries;
      }
      std::vector<double> a, b;
      for (const auto& [query, value] : values[0]) {
        if (!values[1].contains(query)) continue;
        a.push_back(value[0]);
        b.push_back(values[1].at(query)[0]);
      }
      expect_tests(expected, paired_tests(a, b), name);
      ++comparisons;
    }
  }
  EXPECT_GT(comparisons, 0U);
}

}  // namespace
}  // namespace relucent::index_tools
