// Fused runs against ranx's and trectools' scores (tests/index_tools/evaluation/golden_fusion/make_expected.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "index_tools/evaluation/fusion.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

const std::filesystem::path kFusionFolder = "tests/index_tools/evaluation/golden_fusion";

FusionOptions options_of(const json& expected) {
  FusionOptions options;
  options.method = parse_fusion_method(expected.at("method").get<std::string>());
  options.k = expected.value("k", 60.0);
  options.depth = expected.value("depth", std::size_t{0});
  options.normalization = parse_score_normalization(expected.value("normalization", "min-max"));
  options.weights = expected.value("weights", std::vector<double>());
  return options;
}

TEST(FusionGolden, ScoresEqualRanxsAndTrectools) {
  const json cases = json::parse(std::ifstream(kFusionFolder / "expected.json")).at("cases");
  ASSERT_EQ(cases.size(), 17U);
  for (const json& expected : cases) {
    const std::string where = expected.at("method").get<std::string>() + " " +
                              expected.value("normalization", std::string()) + " of " +
                              expected.at("files").get<std::string>();
    std::vector<index_tools::Run> runs;
    for (const char name : expected.at("files").get<std::string>())
      runs.push_back(read_run(kFusionFolder / (std::string(1, name) + ".run")));
    const std::vector<RankedQuery> fused = fuse(runs, options_of(expected));
    ASSERT_EQ(fused.size(), expected.at("scores").size()) << where;
    for (const RankedQuery& query : fused) {
      const json& scores = expected.at("scores").at(query.id);
      ASSERT_EQ(query.hits.size(), scores.size()) << where << " query " << query.id;
      double above = std::numeric_limits<double>::infinity();
      for (const RunHit& hit : query.hits) {
        EXPECT_NEAR(hit.score, scores.at(hit.docno).get<double>(), 1e-12)
            << where << " query " << query.id << " " << hit.docno;
        EXPECT_LE(hit.score, above) << where << " query " << query.id;
        above = hit.score;
      }
    }
  }
}

}  // namespace
}  // namespace relucent::index_tools
