#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "relucent/combine.h"
#include "relucent/config.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

/// nDCG@10 on DL 2021 with the weights of config/fusion.toml, from the golden logits by a program of its own (Python).
constexpr double kShippedFusionOnDl21 = 0.5603;

struct Query {
  std::vector<std::string> documents;  ///< in the first stage's order
  std::vector<double> scores;
  std::vector<std::optional<float>> logits;
};

using Qrels = std::map<std::string, std::map<std::string, int>>;

std::map<std::string, Query> read_candidates(const fs::path& candidates, const fs::path& logits) {
  std::map<std::string, std::map<std::string, float>> logit_of;
  testing::for_each_line(logits, [&](const std::string& line) {
    std::istringstream fields(line);
    std::string query, document;
    float logit = 0;
    fields >> query >> document >> logit;
    logit_of[query][document] = logit;
  });
  std::map<std::string, Query> queries;
  testing::for_each_line(candidates, [&](const std::string& line) {
    const auto record = nlohmann::json::parse(line);
    const std::string id = record["qid"], document = record["docno"];
    Query& query = queries[id];
    query.documents.push_back(document);
    query.scores.push_back(record["score"].get<double>());
    query.logits.emplace_back(logit_of.at(id).at(document));
  });
  return queries;
}

Qrels read_qrels(const fs::path& file) {
  Qrels qrels;
  std::ifstream in(file);
  std::string query, iteration, document;
  int grade = 0;
  while (in >> query >> iteration >> document >> grade) qrels[query][document] = grade;
  return qrels;
}

// nDCG@10 as trec_eval computes it: linear gains, log2 discount.
double ndcg(const std::vector<std::string>& ranking, const std::map<std::string, int>& grades) {
  const auto gain = [](const std::vector<int>& list) {
    double sum = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(10, list.size()); ++i) sum += list[i] / std::log2(i + 2.0);
    return sum;
  };
  std::vector<int> found, ideal;
  for (const auto& document : ranking) {
    const auto grade = grades.find(document);
    found.push_back(grade == grades.end() ? 0 : std::max(0, grade->second));
  }
  for (const auto& entry : grades) ideal.push_back(std::max(0, entry.second));
  std::sort(ideal.rbegin(), ideal.rend());
  return gain(ideal) > 0 ? gain(found) / gain(ideal) : 0;
}

double mean_ndcg(const std::map<std::string, Query>& queries, const Qrels& qrels, const SecondStageConfig& config) {
  double sum = 0;
  int judged = 0;
  for (const auto& [id, query] : queries) {
    const auto grades = qrels.find(id);
    if (grades == qrels.end()) continue;
    std::vector<std::string> ranking;
    for (const auto& hit : combine(query.scores, query.logits, config)) ranking.push_back(query.documents[hit.index]);
    sum += ndcg(ranking, grades->second);
    ++judged;
  }
  return sum / judged;
}

TEST(RescoringFusionGolden, ShippedProfilesReachTheStatedNdcg) {
  const fs::path folder = testing::goldens() / "trained-v2";
  RELUCENT_NEEDS(folder / "expected.json");
  RELUCENT_NEEDS(testing::test_data() / "candidates");
  const auto expected = nlohmann::json::parse(std::ifstream(folder / "expected.json"));
  int sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".tsv.gz")) continue;
    name.resize(name.size() - 7);
    const auto queries =
        read_candidates(testing::test_data() / "candidates" / (name + "-passage.bm25.rerank.jsonl.gz"), entry.path());
    const Qrels qrels = read_qrels(testing::test_data() / "qrels" / ("qrels." + name + "-passage.txt"));
    const auto& figures = expected.at(name);
    EXPECT_EQ(queries.size(), figures.at("queries").get<std::size_t>());
    EXPECT_NEAR(mean_ndcg(queries, qrels, load_config("config/default.toml").rescorer),
                figures.at("model").get<double>(), 0.0005)
        << name;
    SecondStageConfig fusion = load_config("config/fusion.toml").rescorer;
    if (name == "dl21") {
      EXPECT_NEAR(mean_ndcg(queries, qrels, fusion), kShippedFusionOnDl21, 0.0005);
    }
    fusion.query_weight = 0.3;
    EXPECT_NEAR(mean_ndcg(queries, qrels, fusion), figures.at("minmax_model_plus_0.3_minmax_first_stage").get<double>(),
                0.0005)
        << name;
    ++sets;
  }
  EXPECT_GT(sets, 0);
}

}  // namespace
}  // namespace relucent
