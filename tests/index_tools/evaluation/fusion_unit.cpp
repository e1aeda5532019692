#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "index_tools/evaluation/fusion.h"
#include "tests/support/evaluation_support.h"

namespace relucent::index_tools {
namespace {

using testing::error_of;

using Hits = std::vector<RunHit>;

index_tools::Run run_of(const std::vector<std::pair<std::string, Hits>>& queries) {
  index_tools::Run run;
  for (const auto& [query, hits] : queries) {
    run.query_order.push_back(query);
    run.queries[query] = hits;
  }
  return run;
}

std::string docnos(const RankedQuery& query) {
  std::string text;
  for (const RunHit& hit : query.hits) text += (text.empty() ? "" : " ") + hit.docno;
  return text;
}

TEST(Fusion, QueriesAndDocumentsThatOneRunLacksAreKept) {
  const std::vector<index_tools::Run> runs = {run_of({{"9", {{"a", 3, 1}, {"b", 2, 2}}}, {"1", {{"a", 1, 1}}}}),
                                              run_of({{"5", {{"x", 1, 1}}}, {"9", {{"b", 8, 1}, {"c", 7, 2}}}})};
  const auto fused = fuse(runs, {});
  ASSERT_EQ(fused.size(), 3U);
  EXPECT_EQ(fused[0].id + fused[1].id + fused[2].id, "915");
  EXPECT_EQ(docnos(fused[0]), "b a c");
  EXPECT_DOUBLE_EQ(fused[0].hits[0].score, 1.0 / 62 + 1.0 / 61);
  EXPECT_DOUBLE_EQ(fused[0].hits[2].score, 1.0 / 62);
}

// Three runs rank three documents 1 2 3, 2 3 1, 3 1 2: adding in the order of the runs would give three different sums.
TEST(Fusion, DocumentsWithTheSameSummandsTieAndDocnosDecide) {
  const std::vector<index_tools::Run> runs = {run_of({{"1", {{"a", 3}, {"b", 2}, {"c", 1}}}}),
                                              run_of({{"1", {{"a", 2}, {"b", 1}, {"c", 3}}}}),
                                              run_of({{"1", {{"a", 1}, {"b", 3}, {"c", 2}}}})};
  for (const double k : {0.0, 1.0, 3.0, 60.0, 1000.0}) {
    FusionOptions options;
    options.k = k;
    const auto fused = fuse(runs, options);
    EXPECT_EQ(docnos(fused[0]), "c b a") << k;
    EXPECT_EQ(fused[0].hits[0].score, fused[0].hits[2].score) << k;
    const auto turned = fuse({runs[2], runs[0], runs[1]}, options);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(turned[0].hits[i].score, fused[0].hits[i].score) << k;
  }
}

TEST(Fusion, DepthAndHitsCutBeforeAndAfter) {
  const std::vector<index_tools::Run> runs = {run_of({{"1", {{"a", 3}, {"b", 2}, {"c", 1}}}}),
                                              run_of({{"1", {{"d", 3}, {"c", 2}, {"a", 1}}}})};
  FusionOptions options;
  options.depth = 2;
  EXPECT_EQ(docnos(fuse(runs, options)[0]), "d a c b");
  options.hits = 3;
  EXPECT_EQ(docnos(fuse(runs, options)[0]), "d a c");
}

TEST(Fusion, EqualScoresOfAQueryCountAsNothing) {
  FusionOptions options;
  options.method = FusionMethod::weighted_sum;
  const std::vector<index_tools::Run> runs = {run_of({{"1", {{"a", 0.1}, {"b", 0.1}, {"c", 0.1}}}}),
                                              run_of({{"1", {{"a", 1}, {"b", 3}}}})};
  for (const char* name : {"min-max", "sum", "z-score"}) {
    options.normalization = parse_score_normalization(name);
    const auto fused = fuse(runs, options);
    EXPECT_EQ(fused[0].hits[0].docno, "b") << name;
    const auto last =
        std::find_if(fused[0].hits.begin(), fused[0].hits.end(), [](const RunHit& hit) { return hit.docno == "c"; });
    EXPECT_EQ(last->score, 0) << name;
  }
}

TEST(Fusion, RanksDecideWhereTheyAreAskedFor) {
  FusionOptions options;
  options.order = RunOrder::rank;
  const auto fused = fuse({run_of({{"1", {{"a", 1, 1}, {"b", 2, 2}}}}), run_of({{"1", {{"a", 5, 1}}}})}, options);
  EXPECT_EQ(docnos(fused[0]), "a b");
  EXPECT_DOUBLE_EQ(fused[0].hits[0].score, 2.0 / 61);
}

TEST(Fusion, WhatCannotBeFusedIsAnError) {
  const index_tools::Run run = run_of({{"1", {{"a", -1}, {"b", -2}}}});
  const auto message = [&run](ErrorKind kind, FusionOptions options) {
    return error_of(kind, [&] { fuse({run, run}, options); });
  };
  FusionOptions options;
  options.weights = {1};
  EXPECT_NE(message(ErrorKind::usage, options).find("1 given for 2 runs"), std::string::npos);
  options.weights = {0, 0};
  message(ErrorKind::usage, options);
  options.weights = {1, std::numeric_limits<double>::infinity()};
  message(ErrorKind::usage, options);
  options = {};
  options.k = -1;
  message(ErrorKind::usage, options);
  options = {};
  options.method = FusionMethod::weighted_sum;
  options.normalization = ScoreNormalization::max;
  EXPECT_NE(message(ErrorKind::invalid_data, options).find("query 1"), std::string::npos);
  options.normalization = ScoreNormalization::none;
  EXPECT_NE(error_of(ErrorKind::invalid_data,
                     [&] {
                       fuse({run_of({{"7", {{"x", 1e300}}}}), run}, options);
                     })
                .find("query 7, docno x"),
            std::string::npos);
  error_of(ErrorKind::usage, [&] { fuse({}, {}); });
  error_of(ErrorKind::usage, [] { parse_fusion_method("borda"); });
  EXPECT_NE(error_of(ErrorKind::usage, [] { parse_score_normalization("zmuv"); }).find("z-score"), std::string::npos);
}

}  // namespace
}  // namespace relucent::index_tools
