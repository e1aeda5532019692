// Measures, orders and tests of significance against trec_eval's and SciPy's answers.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/significance.h"
#include "index_tools/evaluation/text_lines.h"
#include "tests/test_data.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kTolerance = 1e-12;

fs::path measures_folder() { return testing::goldens() / "measures"; }

std::vector<json> golden_files(const char* key_inside) {
  std::vector<json> found;
  for (const auto& entry : fs::directory_iterator(measures_folder())) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json") && !name.ends_with(".json.gz")) continue;
    std::string text;
    for_each_line(entry.path(), [&](const std::string& line, std::int64_t) { text += line + "\n"; });
    json content = json::parse(text);
    const bool collections = std::all_of(content.begin(), content.end(),
                                         [](const json& value) { return value.is_object() && value.contains("as_scored"); });
    if (key_inside != nullptr ? content.contains(key_inside) : collections) found.push_back(std::move(content));
  }
  return found;
}

// ir_measures' own order of ties is not ours; everything else in the goldens is.
bool is_ours(const std::string& name) { return name.find("(ir_measures)") == std::string::npos; }

void expect_equal(const json& expected, const Run& run, const Qrels& qrels, ScoreType scores, const std::string& where) {
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
      EXPECT_NEAR(evaluation.all[m], means.at(name).get<double>(), kTolerance) << where << " " << name << " complete " << complete;
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

fs::path qrels_of(const std::string& collection) {
  const fs::path data = testing::test_data();
  if (collection == "cranfield") return data / "collections/cranfield/cranqrel";
  if (collection == "med") return data / "collections/med/MED.REL";
  if (collection == "vaswani") return data / "collections/vaswani/qrels";
  return data / "qrels" / ("qrels." + collection + "-passage.txt");
}

// A golden BM25 file as a run: with its scores, or with 1000 - rank so that the file's order is kept.
Run bm25_run(const fs::path& file, bool as_ranked) {
  Run run;
  for_each_line(file, [&](const std::string& line, std::int64_t) {
    const auto fields = split_fields(line);
    double rank = 0, score = 0;
    ASSERT_TRUE(fields.size() == 5 && parse_number(fields[2], rank) && parse_number(fields[3], score)) << line;
    run.queries[std::string(fields[0])].push_back({std::string(fields[1]), as_ranked ? 1000 - rank : score});
  });
  return run;
}

TEST(MeasuresGolden, CasesEqualTrecEvalsToTheLastDigits) {
  RELUCENT_NEEDS(measures_folder());
  std::size_t cases = 0;
  for (const json& content : golden_files("cases")) {
    for (const auto& [name, expected] : content.at("cases").items()) {
      const index_tools::Run run = read_run(measures_folder() / (name + ".run"));
      const Qrels qrels = read_qrels(measures_folder() / (name + ".qrels"));
      expect_equal(expected, run, qrels, ScoreType::single_precision, name);
      expect_equal(expected.contains("if_scores_are_double") ? expected.at("if_scores_are_double") : expected, run, qrels,
                   ScoreType::double_precision, name + " as double");
      ++cases;
    }
  }
  EXPECT_GT(cases, 0U);
}

TEST(MeasuresGolden, BM25RunsOfRealCollectionsEqualTrecEvals) {
  RELUCENT_NEEDS(measures_folder());
  RELUCENT_NEEDS(testing::goldens() / "bm25");
  RELUCENT_NEEDS(testing::test_data());
  std::size_t runs = 0;
  for (const json& content : golden_files(nullptr)) {
    for (const auto& [name, expected] : content.items()) {
      const fs::path file = testing::goldens() / "bm25" / (name + ".tsv.gz");
      const Qrels qrels = read_qrels(qrels_of(name.substr(0, name.find('.'))));
      expect_equal(expected.at("as_scored"), bm25_run(file, false), qrels, ScoreType::single_precision, name + " as scored");
      expect_equal(expected.at("as_ranked"), bm25_run(file, true), qrels, ScoreType::single_precision, name + " as ranked");
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
      expect_tests(expected, paired_tests(expected.at("a").get<std::vector<double>>(), expected.at("b").get<std::vector<double>>()), name);
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 0U);
}

TEST(MeasuresGolden, SignificanceBetweenRealRunsEqualsSciPys) {
  RELUCENT_NEEDS(measures_folder());
  RELUCENT_NEEDS(testing::goldens() / "bm25");
  RELUCENT_NEEDS(testing::test_data());
  std::size_t comparisons = 0;
  for (const json& content : golden_files("runs")) {
    for (const auto& [name, expected] : content.at("runs").items()) {
      // "cranfield nDCG@10 k0.9-b0.4 against k1.2-b0.75"
      const auto words = split_fields(name);
      ASSERT_EQ(words.size(), 5U) << name;
      const std::string collection(words[0]);
      const Qrels qrels = read_qrels(qrels_of(collection));
      const std::vector<Measure> measures = {parse_measure(words[1])};
      std::map<std::string, std::vector<double>> values[2];
      for (int side = 0; side < 2; ++side) {
        const fs::path file = testing::goldens() / "bm25" / (collection + "." + std::string(words[side == 0 ? 2 : 4]) + ".tsv.gz");
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
